import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { QueryRunner } from 'typeorm';
import { DatabaseIdentity } from '../../../src/operations/backup/database-identity.js';
import { Backups, type Manifest } from '../../../src/operations/backup/index.js';
import { Database, SchemaHistory } from '../../../src/platform/database/index.js';
import {
  baseline,
  migrations,
  REPLACED_MIGRATIONS,
} from '../../../src/platform/database/migrations/index.js';
import { adminJson, adminReport } from '../../kit/admin.js';
import { makeAsBeforeBaseline, noteMigrations } from '../../kit/before-baseline.js';
import {
  createDatabase,
  startService,
  type TestDatabase,
  type TestService,
  TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { expectCountedDocuments, expectReplayLaw, scrub } from '../../kit/oracles.js';
import { THIS_NAMES, PLANTED, plantMigrations } from '../../kit/planted-migrations.js';
import type { ProcessEnv } from '../../kit/process.js';
import { schemaText } from '../../kit/schema-text.js';
import { firstOf, itDeep } from '../../kit/rounds.js';

const SETTINGS = { INLINE_BLOB_BYTES: '1024', AUTH_SECRET: 'the same for whatever restores it' };
const BASELINE_NAMES = baseline.map(({ name }) => name);
const NAMES = [...THIS_NAMES, ...PLANTED.map(({ name }) => name)];

/** Numbers of migrations of the versions that made the backups; this version has planted ones too. */
const AGES = [baseline.length, baseline.length + 1, NAMES.length - 1] as const;

/** Backups of databases that were, or had been, of the version before the baseline. */
const BEFORE = 'before the baseline';
const ADOPTED = 'before the baseline once';

/** The backups that are made. */
const MADE = firstOf(1, [...AGES, BEFORE, ADOPTED]);

let home: string;
let service: TestService;
let notes: TestWorkspace;
let contents: Map<string, string>;
let schema: string;
let unplant: () => void;
beforeAll(async () => {
  unplant = plantMigrations();
  home = await mkdtemp(join(tmpdir(), 'sync-backup-older-'));
  service = await startService({ env: SETTINGS });
  schema = await schemaText(service.database.query);
  notes = await (await service.user('alice')).workspace('notes');
  contents = await fill(notes);
  let left = NAMES.length;
  // Earlier versions have no id of the database, in the schema or in a manifest.
  jest.spyOn(DatabaseIdentity.prototype, 'id').mockResolvedValue(undefined as unknown as string);
  for (const age of AGES.filter((one) => MADE.includes(one)).reverse()) {
    await undo(age, left);
    left = age;
    await service.app.get(Backups).create(directoryOf(age));
  }
  if (MADE.includes(BEFORE)) {
    await makeAsBeforeBaseline(service.database);
    await service.app.get(Backups).create(directoryOf(BEFORE));
    await noteMigrations(service.database, BASELINE_NAMES);
    await service.app.get(Backups).create(directoryOf(ADOPTED));
  }
  jest.restoreAllMocks();
});
afterAll(async () => {
  await service.close();
  unplant();
  await rm(home, { recursive: true, force: true });
});

const directoryOf = (age: number | string): string => join(home, `backup-${age}`);

/** @returns the last content of each file */
async function fill(workspace: TestWorkspace): Promise<Map<string, string>> {
  const last = new Map<string, string>();
  for (let write = 0; write < 30; write++) {
    const [path, content] = [`file-${write % 12}`, randomBytes(write % 3 ? 100 : 1500).toString('hex')];
    await workspace.put(path, content);
    last.set(path, content);
  }
  await workspace.delete('file-0').expect(200);
  last.delete('file-0');
  await workspace.checkpoint();
  return last;
}

/** Gives the populated database the schema that the version with the first `kept` migrations had. */
async function undo(kept: number, applied: number): Promise<void> {
  const runner = { query: (sql: string) => service.database.query(sql) } as unknown as QueryRunner;
  for (const Migration of migrations.slice(kept, applied).reverse()) {
    await new Migration().down(runner);
    await service.database.query('DELETE FROM migrations WHERE name = $1', [Migration.name]);
  }
}

interface Place {
  readonly database: TestDatabase;
  readonly env: ProcessEnv & { DATA_DIR: string };
}

async function inEmptyPlace(work: (place: Place) => Promise<void>): Promise<void> {
  const database = await createDatabase();
  const dataDir = await mkdtemp(join(home, 'data-'));
  await work({ database, env: { ...SETTINGS, DATABASE_URL: database.url, DATA_DIR: dataDir } });
  await database.drop();
}

async function expectThisVersion({ query }: TestDatabase): Promise<void> {
  const applied = await query<{ name: string }>('SELECT name FROM migrations ORDER BY id');
  expect(applied.map(({ name }) => name)).toEqual(NAMES);
  expect(await schemaText(query)).toBe(schema);
}

async function expectEverything({ database, env }: Place): Promise<void> {
  await expectThisVersion(database);
  await expectCountedDocuments(database);
  expect(await scrub(database, env.DATA_DIR)).toBe(30);
  expect((await adminJson(env, 'doctor', '--deep')).found).toBe(0);
  const restored = await startService({ env });
  try {
    const workspace = notes.as(await TestUser.logIn(restored.url, 'alice'));
    await expectReplayLaw(workspace);
    for (const [path, content] of contents)
      expect(String((await workspace.get(path).expect(200)).body)).toBe(content);
    await workspace.put('after', 'content').expect(201);
  } finally {
    await restored.close();
  }
}

async function changed(change: (manifest: Manifest) => object): Promise<string> {
  const copy = join(await mkdtemp(join(home, 'copy-')), 'backup');
  await cp(directoryOf(AGES[0]), copy, { recursive: true });
  const path = join(copy, 'manifest.json');
  await writeFile(path, JSON.stringify(change(JSON.parse(await readFile(path, 'utf8')) as Manifest)));
  return copy;
}

const restore = (env: ProcessEnv, directory: string, ...options: string[]): Promise<unknown> =>
  adminReport(env, 'backup', 'restore', directory, ...options);

describe('a backup of an older version', () => {
  it.each(MADE)('with the schema %s is restored and migrated to the current schema', (age) =>
    inEmptyPlace(async (place) => {
      await restore(place.env, directoryOf(age));
      await expectEverything(place);
    }),
  );

  itDeep('is restored into a database of the version before the baseline', () =>
    inEmptyPlace(async ({ database, env }) => {
      await makeAsBeforeBaseline(database);
      await restore(env, directoryOf(BEFORE));
      const applied = await database.query<{ name: string }>('SELECT name FROM migrations ORDER BY id');
      expect(applied.map(({ name }) => name)).toEqual([...REPLACED_MIGRATIONS, ...NAMES]);
      expect(await schemaText(database.query)).toBe(schema);
      await expectCountedDocuments(database);
      expect(await scrub(database, env.DATA_DIR)).toBe(30);
    }),
  );

  itDeep('can be verified', () =>
    inEmptyPlace(async ({ database, env }) => {
      const file = join(env.DATA_DIR, 'url');
      await writeFile(file, database.url);
      const verify = ['backup', 'verify', directoryOf(AGES[0]), '--database-file', file];
      const verified = await adminJson({ ...SETTINGS, DATA_DIR: env.DATA_DIR }, ...verify);
      expect(verified).toMatchObject({ isWhole: true, findings: [] });
    }),
  );

  itDeep('is checked by a dry run, which changes neither rows nor schema', () =>
    inEmptyPlace(async ({ database, env }) => {
      expect(await restore(env, directoryOf(AGES[0]), '--dry-run')).toMatchObject({
        ...{ dryRun: true, rows: { users: 1 } },
      });
      await expectThisVersion(database);
      expect(await database.query('SELECT FROM users')).toEqual([]);
    }),
  );

  itDeep('leaves an empty database of this version when it is damaged', () =>
    inEmptyPlace(async ({ database, env }) => {
      const copy = await changed((manifest) => manifest);
      await writeFile(join(copy, 'tables/versions.copy.gz'), 'damaged');
      await expect(restore(env, copy)).rejects.toMatchObject({ name: 'OperatorError' });
      await expectThisVersion(database);
      expect(await database.query('SELECT FROM users UNION ALL SELECT FROM blobs')).toEqual([]);
    }),
  );

  itDeep('is completed by the next start when its migrations fail', () =>
    inEmptyPlace(async (place) => {
      const advance = jest
        .spyOn(SchemaHistory.prototype, 'advance')
        .mockRejectedValueOnce(new Error('killed'));
      await expect(restore(place.env, directoryOf(AGES[0]))).rejects.toMatchObject({
        name: 'OperatorError',
        message:
          'Everything is restored, with the older schema of the backup; its migration failed (killed): fix that and start the service, which repeats it.',
      });
      advance.mockRestore();
      expect(await place.database.query('SELECT FROM migrations')).toHaveLength(AGES[0]);
      await (await startService({ env: place.env })).close();
      await expectEverything(place);
    }),
  );

  itDeep('is refused where tables are distributed, before anything is changed', () =>
    inEmptyPlace(async ({ database, env }) => {
      const { prototype } = Database;
      const distributed = jest.spyOn(prototype, 'isDistributed', 'get').mockReturnValue(true);
      await expect(restore(env, directoryOf(AGES[0]), '--dry-run')).rejects.toMatchObject({
        name: 'OperatorError',
        message: expect.stringMatching(
          /whose tables cannot be distributed: restore it into an empty database/,
        ) as string,
      });
      distributed.mockRestore();
      await expectThisVersion(database);
    }),
  );

  itDeep('does not drop tables on which another object depends', () =>
    inEmptyPlace(async ({ database, env }) => {
      await restore(env, directoryOf(AGES[0]), '--dry-run'); // migrates: a restore would drop a column
      await database.query('CREATE VIEW theirs AS SELECT * FROM workspaces');
      await expect(restore(env, directoryOf(AGES[0]))).rejects.toThrow('the database has other tables');
      expect(await database.query('SELECT FROM theirs')).toEqual([]);
    }),
  );

  itDeep('does not touch a database in use', () =>
    inEmptyPlace(async ({ database, env }) => {
      await adminReport(env, 'user', 'create', 'somebody@example.org');
      await expect(restore(env, directoryOf(AGES[0]))).rejects.toThrow('This database is in use');
      await expectThisVersion(database);
      expect(await database.query('SELECT FROM users')).toHaveLength(1);
    }),
  );
});

const UNKNOWN: [string, (manifest: Manifest) => readonly string[], RegExp][] = [
  [
    'a newer version',
    ({ migrations }) => [...migrations, 'FromTheFuture9999999999999'],
    /^The backup was made by a newer version \(0\.1\.0, FromTheFuture9999999999999\); restore it with that version or a later one\.$/,
  ],
  [
    'a development version',
    ({ migrations }) => [...migrations.slice(0, -1), 'OfABranch1763600000015'],
    /^The backup has a schema that no release supports: restore it with the version that made it \(0\.1\.0\)\.$/,
  ],
  [
    'a version before the baseline that had not finished its migrations',
    () => REPLACED_MIGRATIONS.slice(0, -1),
    /^The backup has a schema that no release supports/,
  ],
  [
    'a version that had not finished the baseline',
    () => BASELINE_NAMES.slice(0, -1),
    /^The backup has a schema that no release supports/,
  ],
  ['no version', () => [], /^The backup has a schema that no release supports/],
];

describe('a backup of', () => {
  it.each(firstOf(1, UNKNOWN))('%s is refused with one sentence, and nothing changes', (_, names, sentence) =>
    inEmptyPlace(async ({ database, env }) => {
      const copy = await changed((manifest) => ({ ...manifest, migrations: names(manifest) }));
      for (const options of [[], ['--dry-run']])
        await expect(restore(env, copy, ...options)).rejects.toMatchObject({
          ...{ name: 'OperatorError', message: expect.stringMatching(sentence) as string },
        });
      await expectThisVersion(database);
    }),
  );
});
