import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Manifest } from '../../../src/operations/backup/backup-parts.js';
import { Retention } from '../../../src/domain/retention/index.js';
import { adminJson } from '../../kit/admin.js';
import { type LoggedOperation, writeLog, writeUser } from '../../kit/histories.js';
import { createDatabase, startService, type TestDatabase, type TestService } from '../../kit/index.js';

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;

/** Referenced tables first. */
const PARTITIONED = ['files', 'blobs', 'versions', 'changes'];
const PARTITIONS = 4;

const SETTINGS = { AUTH_SECRET: 'the same for whatever restores it' };

/** Partitions the empty tables by a hash of the workspace, like an operator, with all keys and indexes. */
async function partition({ query }: TestDatabase): Promise<void> {
  const keys = await query<{ table: string; name: string; definition: string }>(
    `SELECT conrelid::regclass::text AS "table", conname AS name, pg_get_constraintdef(oid) AS definition
     FROM pg_constraint
     WHERE contype = 'f' AND (conrelid::regclass::text = ANY ($1) OR confrelid::regclass::text = ANY ($1))`,
    [PARTITIONED],
  );
  for (const { table, name } of keys) await query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
  for (const table of PARTITIONED) {
    await query(`ALTER TABLE ${table} RENAME TO ${table}_whole`);
    await query(
      `CREATE TABLE ${table} (LIKE ${table}_whole INCLUDING ALL EXCLUDING INDEXES) PARTITION BY HASH (workspace_id)`,
    );
    for (let n = 0; n < PARTITIONS; n++)
      await query(
        `CREATE TABLE ${table}_${n} PARTITION OF ${table} FOR VALUES WITH (MODULUS ${PARTITIONS}, REMAINDER ${n})`,
      );
    await moveIndexes(query, table);
    await query(`DROP TABLE ${table}_whole`);
  }
  for (const { table, name, definition } of keys)
    await query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`);
}

/** Constraints keep their names, because migrations refer to them by name. */
async function moveIndexes(query: TestDatabase['query'], table: string): Promise<void> {
  const whole = `${table}_whole`;
  const unique = await query<{ name: string; definition: string }>(
    `SELECT conname AS name, pg_get_constraintdef(oid) AS definition FROM pg_constraint
     WHERE conrelid = $1::regclass AND contype IN ('p', 'u')`,
    [whole],
  );
  for (const { name, definition } of unique) {
    await query(`ALTER TABLE ${whole} DROP CONSTRAINT ${name}`);
    await query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`);
  }
  const others = await query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index WHERE indrelid = $1::regclass`,
    [whole],
  );
  for (const { name, definition } of others) {
    await query(`DROP INDEX ${name}`);
    await query(definition.replace(` ON public.${whole} `, ` ON public.${table} `));
  }
}

let database: TestDatabase;
let service: TestService;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sync-partitions-'));
  database = await createDatabase();
  await partition(database);
  service = await startService({ env: { ...SETTINGS, DATABASE_URL: database.url } });
});
afterAll(async () => {
  await service.close();
  await database.drop();
  await rm(home, { recursive: true, force: true });
});

const countsOf = async ({ query }: TestDatabase): Promise<unknown> => {
  const counts = PARTITIONED.map((table) => `(SELECT count(*)::int FROM ${table}) AS ${table}`);
  return (await query(`SELECT ${counts.join(', ')}`))[0];
};

/** Histories in different partitions, alternately of two versions an hour and of one a week. */
async function histories(): Promise<void> {
  const start = service.clock.now().getTime() - 3 * DAY;
  const owner = await writeUser(database.query);
  for (let i = 0; i < 16; i++) {
    const apart = i % 2 === 0 ? HOUR / 2 : -7 * DAY;
    const operations = Array.from({ length: 48 }, (_, n): LoggedOperation => {
      return { file: n % 2, action: 'upsert', at: new Date(start + n * apart) };
    });
    await writeLog(database.query, owner, { operations });
  }
}

describe('a database whose tables have hash partitions', () => {
  it('is read, written, thinned and purged like any other', async () => {
    const alice = await service.user('alice');
    const notes = await alice.workspace();
    for (const text of ['one', 'two']) await notes.put('note', text);
    await notes.delete('note').expect(200);
    expect((await notes.log()).map(({ action }) => action)).toEqual(['upsert', 'upsert', 'delete']);
    await alice.delete(notes.path).expect(200);
    await database.eventually(`SELECT 1 WHERE NOT EXISTS (SELECT FROM workspaces WHERE id = '${notes.id}')`);

    await histories();
    const versionsOf = async (): Promise<number[]> =>
      (
        await database.query<{ count: number }>(
          'SELECT count(*)::int AS count FROM versions GROUP BY workspace_id',
        )
      ).map(({ count }) => count);
    expect(await versionsOf()).toEqual(Array(16).fill(48));
    const later = new Date(service.clock.now().getTime() + 30 * DAY);
    const foreseen = await service.app.get(Retention).run(later, { isDryRun: true });
    const thinned = await service.app.get(Retention).run(later);
    expect(thinned).toMatchObject({ versions: foreseen.versions, failed: 0 });
    expect((await versionsOf()).filter((count) => count === 48)).toHaveLength(8);
  });

  it('is backed up with each row once, and restored into a database with or without partitions', async () => {
    await histories();
    const source = { ...SETTINGS, DATABASE_URL: database.url, DATA_DIR: service.dataDir };
    const directory = join(home, 'backup');
    await adminJson(source, 'backup', 'create', directory);
    const { tables } = JSON.parse(await readFile(join(directory, 'manifest.json'), 'utf8')) as Manifest;
    expect(tables.map(({ name }) => name).filter((name) => /_\d$/.test(name))).toEqual([]);

    for (const isPartitioned of [true, false]) {
      const target = await createDatabase();
      if (isPartitioned) await partition(target);
      const env = { ...SETTINGS, DATABASE_URL: target.url, DATA_DIR: await mkdtemp(join(home, 'data-')) };
      await adminJson(env, 'backup', 'restore', directory);
      expect(await countsOf(target)).toEqual(await countsOf(database));
      expect((await adminJson(env, 'doctor', '--deep'))['found']).toBe(0);
      await target.drop();
    }
  });
});
