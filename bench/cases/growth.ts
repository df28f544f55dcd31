import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { Bench } from '../bench.js';
import { checkpointAtHead, fill, type Places, type Size } from '../growth-data.js';
import { type Contestant, measureBeside, type Result } from '../measure/beside.js';
import type { Client } from '../measure/client.js';
import { timed } from '../measure/load.js';
import type { Account } from '../servers/account.js';
import type { Case } from './case.js';
import type { RetentionRun } from './growth-retention.js';

const LARGE: Size = { workspaces: 20_000, changes: 1_000_000, changesOfFile: 20_000 };
const SMALL: Size = { workspaces: 20, changes: 30_000, changesOfFile: 20 };

/** Changes in the window of a summary. */
const WINDOW = 10;
const REQUESTS = 20;
const LOOK_EVERY_MS = 20;

export const growth: Case = {
  name: 'growth',
  says: 'what must cost the same in a large deployment as in a small one, each large over small: retention with nothing due, a summary of ten changes, a push, the purge of a workspace',
  run: async function* (bench) {
    const large = await deployed(bench.fresh('growth-large'), LARGE);
    const small = await deployed(bench.fresh('growth-small'), SMALL);
    const beside = (name: string, work: (one: Deployed) => Promise<number>): Promise<Result> =>
      measureBeside(name, [contestant('large', large, work), contestant('small', small, work)]);
    yield await beside('retention with nothing due, 20,000 and 20 workspaces', (one) => one.retention());
    yield await beside('summary of 10 changes, after 1,000,000 and 30,000', (one) => one.summary());
    yield await beside('push to a file with 20,000 and 20 changes by others', (one) => one.push('two'));
    yield await beside('push to a file with 20,000 and 20 changes by itself', (one) => one.push('one'));
    yield await measureBeside(
      'purge of a workspace, 1,000,000 and 30,000 changes, µs for each',
      [large, small].map((one, index) => ({
        name: index === 0 ? 'large' : 'small',
        run: async (round) => ({ microseconds: round === 0 ? 0 : await one.purge() }),
      })),
      { rounds: 1 },
    );
    for (const one of [large, small]) await one.stop();
  },
};

const contestant = (name: string, one: Deployed, work: (one: Deployed) => Promise<number>): Contestant => ({
  name,
  run: async () => ({ milliseconds: await work(one) }),
});

async function deployed(bench: Bench, size: Size): Promise<Deployed> {
  const { databaseUrl } = await bench.service();
  const account = await bench.account();
  const [log = '', file = ''] = await account.workspaces(2);
  const places = { log, file };
  await fill(databaseUrl, places, size);
  const checkpoint = await checkpointAtHead(databaseUrl, log);
  const runner = fork(join(import.meta.dirname, 'growth-retention.js'), {
    env: { ...process.env, DATA_DIR: await bench.place('service'), LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await once(runner, 'message');
  return new Deployed({ bench, account, places, checkpoint, runner, size, databaseUrl });
}

interface Parts {
  readonly bench: Bench;
  readonly account: Account;
  readonly places: Places;
  /** Id of a checkpoint at the head of the log. */
  readonly checkpoint: string;
  readonly runner: ChildProcess;
  readonly size: Size;
  readonly databaseUrl: string;
}

/** A filled deployment with its measurements. */
class Deployed {
  constructor(private readonly parts: Parts) {}

  /** Milliseconds of one retention run. */
  async retention(): Promise<number> {
    const { runner } = this.parts;
    const answer = once(runner, 'message') as Promise<[RetentionRun]>;
    runner.send('run');
    const [{ milliseconds, versions }] = await answer;
    if (versions > 0) throw new Error('retention found something to thin');
    return milliseconds;
  }

  /** Milliseconds of a summary of the last changes of the log. */
  summary(): Promise<number> {
    const { places, checkpoint, size } = this.parts;
    const address = `/api/v1/workspaces/${places.log}/checkpoints/${checkpoint}/summary?fromCursor=${size.changes - WINDOW}`;
    return this.mean((client) => client.send('GET', address));
  }

  /** Milliseconds of a push with base 0; its deletion is a conflict, so it can be repeated. */
  push(deviceId: string): Promise<number> {
    const changes = [{ encryptedPath: 'file-1', action: 'delete', contentHash: '0'.repeat(64) }];
    const body = { deviceId, baseCursor: 0, changes };
    return this.mean((client) =>
      client.sendJson('POST', `/api/v1/workspaces/${this.parts.places.file}/sync/push`, body),
    );
  }

  /** Microseconds per change, from the deletion of the workspace until its row is gone. */
  async purge(): Promise<number> {
    const { account, places, size, databaseUrl } = this.parts;
    const database = new pg.Client({ connectionString: databaseUrl });
    await database.connect();
    const client = await account.client();
    const isThere = async (): Promise<boolean> =>
      (await database.query('SELECT FROM workspaces WHERE id = $1', [places.log])).rows.length > 0;
    const milliseconds = await timed(async () => {
      await client.send('DELETE', `/api/v1/workspaces/${places.log}`);
      while (await isThere()) await pause(LOOK_EVERY_MS);
    });
    client.close();
    await database.end();
    return (milliseconds * 1000) / size.changes;
  }

  async stop(): Promise<void> {
    this.parts.runner.disconnect();
    await once(this.parts.runner, 'exit');
    await this.parts.bench.stop();
  }

  private async mean(send: (client: Client) => Promise<unknown>): Promise<number> {
    const client = await this.parts.account.client();
    const milliseconds = await timed(async () => {
      for (let i = 0; i < REQUESTS; i++) await send(client);
    });
    client.close();
    return milliseconds / REQUESTS;
  }
}
