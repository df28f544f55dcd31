import type { Bench } from '../bench.js';
import { result, type Result } from '../measure/beside.js';
import type { Figures } from '../measure/figures.js';
import { memoryOf } from '../measure/processes.js';
import { hangUp, listeners } from '../servers/listener.js';
import { serviceTarget, type Target } from '../servers/target.js';
import type { Case } from './case.js';
import { type Note, notebook } from './note.js';

const MIB = 1024 * 1024;
const SETTLES_MS = 5_000;
const LOOK_EVERY_MS = 500;
const SOCKETS = 1_000;
const IN_FLIGHT = 16;
const [LOAD_S, LONG_LOAD_S] = [30, 300];
const NOTE = 'service: resident set size; PostgreSQL: proportional set size (PSS) of all its processes';

export const memory: Case = {
  name: 'memory',
  says: 'service and PostgreSQL at idle, with 1,000 sockets, and under continuous uploads, pulls and downloads',
  run: async function* (bench) {
    // A separate service, so that memory left over from other cases does not count.
    const fresh = bench.fresh('memory');
    const target = await serviceTarget(fresh);
    try {
      yield* await measured(fresh, target, bench.isLong ? LONG_LOAD_S : LOAD_S);
    } finally {
      await fresh.stop();
    }
  },
};

async function measured(bench: Bench, target: Target, seconds: number): Promise<Result[]> {
  const [workspaceId = ''] = await (await bench.account()).workspaces(1);
  const service = await bench.service();
  const look = async (): Promise<Figures> => footprint(target.pid, await service.postgres());
  await settled();
  const idle = await look();
  const sockets = await listeners(bench, target, workspaceId, SOCKETS);
  await settled();
  const connected = await look();
  await hangUp(sockets);
  const peak = await peakDuring(look, () => load(target, workspaceId, seconds));
  await settled();
  const figures = {
    'at idle': idle,
    [`with ${SOCKETS} sockets`]: connected,
    [`most, in ${seconds} s of load`]: peak,
    'after it': await look(),
  };
  return [result('memory, MiB', figures, NOTE)];
}

async function footprint(pid: number, postgres: readonly number[]): Promise<Figures> {
  const service = await memoryOf(pid, 'Rss');
  const shares = await Promise.all(postgres.map((one) => memoryOf(one, 'Pss')));
  const database = shares.filter((bytes) => !Number.isNaN(bytes)).reduce((sum, bytes) => sum + bytes, 0);
  return { together: (service + database) / MIB, service: service / MIB, postgres: database / MIB };
}

/** The sample with the highest total. */
async function peakDuring(look: () => Promise<Figures>, work: () => Promise<void>): Promise<Figures> {
  const looks: Figures[] = [await look()];
  const looking = setInterval(() => void look().then((figures) => looks.push(figures)), LOOK_EVERY_MS);
  await work();
  clearInterval(looking);
  return looks.reduce((peak, figures) => ((figures.together ?? 0) > (peak.together ?? 0) ? figures : peak));
}

/** Two uploads, a download and a pull in turn: an hour of many devices, compressed into minutes. */
async function load({ client, pathTo }: Target, workspaceId: string, seconds: number): Promise<void> {
  const notes = notebook(500);
  const deadline = performance.now() + seconds * 1000;
  const pullFrom = (cursor: number): Promise<unknown> =>
    client.sendJson('POST', `/api/v1/workspaces/${workspaceId}/sync/pull`, {
      deviceId: 'bench',
      cursor,
      limit: 100,
    });
  const upload = async (i: number, version: number): Promise<void> => {
    const { body, headers } = notes[(i + version) % notes.length] as Note;
    await client.send('PUT', pathTo(workspaceId, `note-${i % notes.length}`), { body, headers });
  };
  let uploads = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() < deadline) {
      const i = uploads++;
      await upload(i, Math.floor(i / notes.length));
      await upload(i + 1, Math.floor(i / notes.length) + 1);
      await client.send('GET', pathTo(workspaceId, `note-${i % notes.length}`));
      await pullFrom(Math.max(0, i - 200));
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
}

const settled = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, SETTLES_MS));
