import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { runningEmbeddedPostgres } from '../../src/platform/database/embedded/index.js';
import { expectDenseLogs, expectReplayLaw, scrub } from '../kit/oracles.js';
import { type ServiceProcess, startProcess } from '../kit/process.js';
import { type TestDatabase, TestUser, TestWorkspace } from '../kit/index.js';

const ROUNDS = 4;
const WRITERS = 8;
const ACKNOWLEDGED_PER_ROUND = 60;

describe('kill -9 of the service in a storm of uploads', () => {
  let dataDir: string;
  let service: ServiceProcess;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'sync-crash-'));
  });
  afterAll(async () => {
    await service.end('SIGTERM');
    await rm(dataDir, { recursive: true, force: true });
  });

  it('loses nothing that was acknowledged and leaves nothing half-written', async () => {
    const acknowledged = new Map<string, string>();
    let id = '';
    for (let round = 0; round < ROUNDS; round++) {
      service = await startProcess({ DATA_DIR: dataDir });
      const alice = await TestUser.logIn(service.url, 'alice');
      await alice.post('/api/v1/subscription/trial').expect(200);
      if (id === '') id = (await alice.workspace()).id;
      const workspace = new TestWorkspace(alice, id);

      await stormUntilKilled(workspace, service, acknowledged);
    }

    service = await startProcess({ DATA_DIR: dataDir });
    const workspace = new TestWorkspace(await TestUser.logIn(service.url, 'alice'), id);
    expect(acknowledged.size).toBeGreaterThanOrEqual(ROUNDS * ACKNOWLEDGED_PER_ROUND);
    const listed = new Map((await workspace.list()).map((file) => [file.encrypted_path, file.content_hash]));
    for (const [path, hash] of acknowledged) expect(listed.get(path)).toBe(hash);
    await expectReplayLaw(workspace);
    await withDatabase(dataDir, async (database) => {
      await expectDenseLogs(database);
      expect(await scrub(database, dataDir)).toBeGreaterThanOrEqual(acknowledged.size);
      await expectNothingUnnamed(database, dataDir);
    });
  });
});

/** Uploads small and large files until enough are acknowledged, then kills in mid-write. */
async function stormUntilKilled(
  workspace: TestWorkspace,
  service: ServiceProcess,
  acknowledged: Map<string, string>,
): Promise<void> {
  const goal = acknowledged.size + ACKNOWLEDGED_PER_ROUND;
  let isOver = false;
  const writer = async (): Promise<void> => {
    while (!isOver) {
      const path = randomBytes(12).toString('base64url');
      const content = randomBytes(Math.random() < 0.5 ? 300 : 150_000);
      const answer = await workspace.put(path, content).catch(() => undefined);
      if (answer?.status === 201) acknowledged.set(path, answer.body.contentHash);
      else if (isOver || answer === undefined) return;
    }
  };
  const kill = async (): Promise<void> => {
    while (acknowledged.size < goal) await new Promise(setImmediate);
    isOver = true;
    await service.end('SIGKILL');
  };
  await Promise.all([kill(), ...Array.from({ length: WRITERS }, writer)]);
}

/** Looks into the embedded database of a running service. */
async function withDatabase(
  dataDir: string,
  look: (database: Pick<TestDatabase, 'query'>) => Promise<void>,
): Promise<void> {
  const target = await runningEmbeddedPostgres(dataDir);
  if (!target) throw new Error('the embedded database does not run');
  const client = new pg.Client(target);
  await client.connect();
  try {
    const query = async <Row>(sql: string, values: unknown[] = []): Promise<Row[]> =>
      (await client.query(sql, values)).rows as Row[];
    await look({ query });
  } finally {
    await client.end();
  }
}

/** Bytes on disk without a row would never be found again; rows that wait for the sweeper are in order. */
async function expectNothingUnnamed(database: Pick<TestDatabase, 'query'>, dataDir: string): Promise<void> {
  const rows = await database.query<{ id: string }>(`SELECT id FROM blobs WHERE location = 'disk'`);
  const named = new Set(rows.map(({ id }) => id));
  const root = join(dataDir, 'blobs');
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && entry.parentPath !== root) // there the store's own id
    .map(({ name }) => name.replace(/\.tmp$/, ''));
  expect(files.filter((name) => !named.has(name))).toEqual([]);
}
