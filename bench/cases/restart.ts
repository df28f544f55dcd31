import pg from 'pg';
import { insertLargeLog } from '../large-log.js';
import { result } from '../measure/beside.js';
import { median } from '../measure/figures.js';
import { Account } from '../servers/account.js';
import { type Service, startService } from '../servers/service.js';
import type { Case } from './case.js';

const FILES = 100_000;
const CHANGES = 1_000_000;
const RESTARTS = 3;

export const restart: Case = {
  name: 'restart',
  says: 'from process start to ready, with 1,000,000 changes in the log and with none',
  run: async function* (bench) {
    const directory = await bench.place('restart');
    const service = await startService(directory);
    try {
      const [workspaceId = ''] = await (await Account.signUp(service.url)).workspaces(1);
      await service.stop();
      const empty = await readyTimes(directory);
      await filled(directory, workspaceId);
      const full = await readyTimes(directory);
      const figures = { 'with 1,000,000 changes': full, 'with none': empty };
      yield result('restart after SIGTERM, to listening', figures);
    } finally {
      await service.stop();
    }
  },
};

async function readyTimes(directory: string): Promise<{ readyMs: number }> {
  const times: number[] = [];
  for (let i = 0; i < RESTARTS; i++) {
    await running(directory, (service) => Promise.resolve(times.push(service.readyMs)));
  }
  return { readyMs: median(times) };
}

async function filled(directory: string, workspaceId: string): Promise<void> {
  await running(directory, async ({ databaseUrl }) => {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    try {
      // The rows satisfy the foreign keys; checking them millions of times takes minutes.
      await client.query('SET session_replication_role = replica');
      const run = (sql: string, values: unknown[]): Promise<unknown> => client.query(sql, values);
      await insertLargeLog(run, workspaceId, { files: FILES, changes: CHANGES });
      await client.query('VACUUM (ANALYZE) files, changes, versions');
    } finally {
      await client.end();
    }
  });
}

async function running(directory: string, work: (service: Service) => Promise<unknown>): Promise<void> {
  const service = await startService(directory);
  try {
    await work(service);
  } finally {
    await service.stop();
  }
}
