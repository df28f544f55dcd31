import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type WebSocket from 'ws';
import type { Bench } from '../bench.js';
import { type Contestant, measureBeside } from '../measure/beside.js';
import { type Figures, quantile } from '../measure/figures.js';
import { processorMicros } from '../measure/processes.js';
import { hangUp, listeners } from '../servers/listener.js';
import { bareTarget, serviceTarget, type Target } from '../servers/target.js';
import type { Case } from './case.js';
import { note } from './note.js';

const SIZE = 64;
const LISTENERS = [100, 1_000];
const MESSAGES = 30_000;
const WRITES_ALONE = 200;
const ROUNDS = 3;

export const fanOut: Case = {
  name: 'fan-out',
  says: 'CPU time per message to 100 and 1,000 listeners, compared with a bare server that broadcasts over ws',
  run: async function* (bench) {
    const targets = [await serviceTarget(bench), await bareTarget(bench, 'no blob')];
    for (const count of LISTENERS) {
      const rooms = await Promise.all(targets.map((target) => Room.open(bench, target, count)));
      const contestants = rooms.map((room): Contestant => ({ name: room.name, run: () => room.tellAll() }));
      yield await measureBeside(`a change to ${count} listeners`, contestants, { rounds: ROUNDS });
      for (const room of rooms) await room.close();
    }
  },
};

/** A workspace with listeners, and one without. */
class Room {
  /** Interval between two announced writes; 0 before the warm-up round, which is not counted. */
  private paceMs = 0;

  private constructor(
    private readonly target: Target,
    private readonly workspaceId: string,
    private readonly emptyId: string,
    private readonly sockets: readonly WebSocket[],
  ) {}

  static async open(bench: Bench, target: Target, count: number): Promise<Room> {
    const isService = target.name === 'service';
    const ids = isService ? await (await bench.account()).workspaces(2) : [randomUUID(), randomUUID()];
    const [full = '', empty = ''] = ids;
    return new Room(target, full, empty, await listeners(bench, target, full, count));
  }

  get name(): string {
    return this.target.name;
  }

  /**
   * Measures the cost of messages by subtracting the cost of the same writes without listeners. Those run first, at
   * the pace of the previous round: back-to-back writes share one notification to the other instances and keep the
   * processors awake.
   */
  async tellAll(): Promise<Figures> {
    const pids = (): number[] => [this.target.pid];
    const writes = MESSAGES / this.sockets.length;
    const arrivals: number[] = [];
    const alone = await processorMicros(pids, () =>
      paced(WRITES_ALONE, this.paceMs, () => this.write(this.emptyId)),
    );
    const began = performance.now();
    const told = await processorMicros(pids, () => repeat(writes, () => this.tellOnce(arrivals)));
    this.paceMs = (performance.now() - began) / writes;
    return {
      cpuMicrosPerMessage: (told - (alone / WRITES_ALONE) * writes) / MESSAGES,
      aWriteAlone: alone / WRITES_ALONE,
      withItsWrite: told / MESSAGES,
      arrivalP50Ms: quantile(arrivals, 0.5),
      arrivalP99Ms: quantile(arrivals, 0.99),
    };
  }

  async close(): Promise<void> {
    await hangUp(this.sockets);
  }

  /** Writes and waits until every listener has been notified: waiting changes would share a message. */
  private async tellOnce(arrivals: number[]): Promise<void> {
    const started = performance.now();
    const heard = new Promise<void>((resolve) => {
      let missing = this.sockets.length;
      for (const socket of this.sockets) {
        socket.once('message', () => {
          arrivals.push(performance.now() - started);
          if (--missing === 0) resolve();
        });
      }
    });
    await this.write(this.workspaceId);
    await heard;
  }

  private async write(workspaceId: string): Promise<void> {
    const { path, ...sent } = note(SIZE);
    await this.target.client.send('PUT', this.target.pathTo(workspaceId, path), sent);
  }
}

async function repeat(times: number, work: () => Promise<void>): Promise<void> {
  for (let i = 0; i < times; i++) await work();
}

/** The same, each started at this interval after the previous one. */
async function paced(times: number, everyMs: number, work: () => Promise<void>): Promise<void> {
  let due = performance.now();
  await repeat(times, async () => {
    await work();
    due += everyMs;
    await pause(Math.max(0, due - performance.now()));
  });
}
