import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { BY_OPERATOR } from '../../../src/domain/auth/audit/index.js';
import { Checkpoints } from '../../../src/domain/checkpoints/index.js';
import { KeySlots } from '../../../src/domain/workspaces/key-slots/index.js';
import {
  BOUND_TABLES,
  DISTRIBUTED_TABLES,
  knownStatements,
  newId,
} from '../../../src/platform/database/index.js';
import { PushQueue } from '../../../src/domain/devices/web-push/push-queue.js';
import { Workspaces } from '../../../src/domain/workspaces/index.js';
import { startService, type TestService } from '../../kit/index.js';
import { ROOT, text } from '../../kit/deployment.js';

/** Statements that look at all nodes, by what runs them. docs/operate/scaling.md has the same table. */
const LOOK_AT_ALL_NODES = {
  'one server alone, and not where workspaces are on nodes': ['files.put'],
  'requests about all workspaces of an account; an upload, when that was five seconds ago': [
    'files.held_elsewhere',
    'usage.of_user',
    'push_subscriptions.crowd_out',
    'devices.unsubscribe',
    'workspaces.delete_all_of_user',
  ],
  'the start, and each command: whether the store that is configured is needed': ['blobs.any_stored'],
  'each instance by itself: what is deleted is emptied and swept, keys run out, pushes are sent': [
    'workspaces.deleted',
    'blobs.mark_staged_for_deletion',
    'blobs.lock_due',
    'blob_leftovers.claim',
    'assets.forget_keys',
    'push_queue.claim',
  ],
  'each look at the metrics': ['blobs.waiting'],
  'nightly jobs': ['retention.due_workspaces'],
  "admin commands, administrators' pages": [
    'accounts.held',
    'blobs.count_due',
    'blob_leftovers.count_due',
    'blobs.count_move_due',
    'blobs.move_page',
    'doctor.inline_page',
    'doctor.overdue',
    'doctor.stored',
    'storage.drift',
    'storage.recount',
    'usage.next',
    'rows_check.without_workspace',
    'backup.is_anybody_here',
    'failovers.count',
  ],
};

/** The statements of the service, without those that test files of this process have made. */
const ownStatements = () => knownStatements().filter(({ name }) => !name.startsWith('test.'));

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((path) =>
  /\.tsx?$/.test(path),
);
const document = text('docs/operate/scaling.md');

/** Each distributed table and the column that it is distributed by. */
const keyOf = new Map(DISTRIBUTED_TABLES.map(({ table, column }) => [table, column]));
const tables = [...keyOf.keys()].filter((table) => table !== 'workspaces');
const touches = (sql: string): boolean =>
  [...keyOf.keys()].some((table) => new RegExp(`\\b${table}\\b`).test(sql));

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly Alias?: string;
  readonly Plans?: readonly Plan[];
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** An equality that must hold: a part of an OR, a CASE or a NOT does not count. */
const EQUALITY = /(?<!(?:OR|WHEN|NOT) )\(([\w.]+) = (?:ANY \()?([$\w.]+)\)+(?! OR| THEN)/g;

/** Conditions of a bitmap index scan are repeated in its heap scan, with their OR. */
const equalities = (node: Plan): [string, string][] =>
  Object.entries(node['Node Type'] === 'Bitmap Index Scan' ? {} : node)
    .filter(([name, value]) => /\b(Cond|Filter)$/.test(name) && typeof value === 'string')
    .flatMap(([, condition]) => [...String(condition).replaceAll('"', '').matchAll(EQUALITY)])
    .flatMap(([, left = '', right = '']): [string, string][] => [
      [left, right],
      [right, left],
    ]);

/**
 * The scans of a plan that do not find their rows by the key. A key is given when it equals a parameter, a
 * value of an `unnest` or of a subquery, whose own scans are checked too, or another key that is given.
 */
function scansWithoutKey(plan: Plan): string[] {
  const nodes = nodesOf(plan);
  const scans = nodes.filter((node) => node['Relation Name'] && node['Node Type'] !== 'ModifyTable');
  const ofTables = new Set(scans.map(({ Alias }) => Alias));
  const wanted = new Set(
    scans.flatMap(({ Alias, 'Relation Name': table = '' }) =>
      keyOf.has(table) ? [`${Alias}.${keyOf.get(table)}`] : [],
    ),
  );
  const pairs = nodes.flatMap(equalities);
  const isGiven = (value: string): boolean =>
    value.startsWith('$') || (value.includes('.') && !ofTables.has(value.split('.')[0]));
  const named = new Set<string>();
  for (let before = -1; before < named.size;) {
    before = named.size;
    for (const [column, value] of pairs)
      if (wanted.has(column) && (isGiven(value) || named.has(value))) named.add(column);
  }
  return [...wanted].filter((column) => !named.has(column));
}

let service: TestService;
let planner: pg.Client;
beforeAll(async () => {
  service = await startService();
  planner = new pg.Client({ connectionString: service.database.url });
  await planner.connect();
  await planner.query('SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off'); // as the service does
});
afterAll(async () => {
  await planner.end();
  await service.close();
});

/** Whether the statement looks for rows of distributed tables other than by their key. */
async function looksAtAllNodes(sql: string): Promise<boolean> {
  const count = Math.max(0, ...[...sql.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
  const nulls = count > 0 ? `(${Array(count).fill('NULL').join(', ')})` : '';
  await planner.query(`PREPARE planned AS ${sql}`);
  const { rows } = await planner.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    `EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE planned${nulls}`,
  );
  await planner.query('DEALLOCATE planned');
  return rows.some((row) => scansWithoutKey(row['QUERY PLAN'][0].Plan).length > 0);
}

/** Calls repositories of distributed tables. */
async function useRepositories(): Promise<void> {
  const alice = await service.user('alice');
  const workspace = await alice.workspace();
  const { id, path } = workspace;
  const verificationHash = 'a'.repeat(64);
  const salts = { encryptionSalt: 'b'.repeat(64), verificationSalt: 'c'.repeat(64) };
  await alice
    .post(`${path}/setup-encryption`)
    .send({ ...salts, verificationHash })
    .expect(200);
  await alice.post(`${path}/verify-password`).send({ verificationHash }).expect(200);
  await alice.post('/api/v1/auth/tokens').send({ name: 'bound', workspaceId: id }).expect(201);
  await alice.get('/api/v1/workspaces').expect(200);
  await service.app.get(Workspaces).rename(id, 'renamed');

  const slots = service.app.get(KeySlots, { strict: false });
  const slot = { kind: 'recovery', label: null, kdf: {}, wrappedKey: 'AAAA' } as const;
  const write = { workspaceId: id, verificationHash, ifMatch: null, by: BY_OPERATOR };
  const slotIds = [newId(), newId()] as const;
  for (const slotId of [...slotIds, slotIds[0]]) await slots.put({ ...write, slotId }, slot);
  await slots.delete({ ...write, slotId: slotIds[0] });
  await slots.purge(id);

  await alice.post(`${path}/checkpoints`).send({ encryptedLabel: 'bGFiZWw', kind: 'manual' }).expect(201);
  await service.app.get(Checkpoints, { strict: false }).purge(id);

  await alice.delete(`/api/v1/devices/push-subscription/${id}/phone`).expect(200);
  const push = {
    workspaceId: id,
    deviceId: 'phone',
    endpoint: '',
    p256dh: '',
    auth: '',
    type: 'changes',
  } as const;
  for (const outcome of ['gone', 'delivered'] as const)
    await service.app
      .get(PushQueue, { strict: false })
      .settle({ ...push, ownerId: alice.id, failures: 1 }, { outcome });

  await alice.delete(path).expect(200);
}

describe('the connections of an instance', () => {
  it('are as many as documented: those of its pool, and one for each dedicated purpose', () => {
    const purposes = sources
      .filter((path) => !path.startsWith('operations/backup/')) // that one is the admin command's
      .flatMap((path) => [...text(join('src', path)).matchAll(/dedicatedClient\('(\w+)'/g)])
      .map(([, purpose]) => purpose);
    expect(purposes.sort()).toEqual(['jobs', 'listen', 'notify', 'readiness']);
    expect(text('docs/operate/scaling.md')).toContain(
      `instances × (DATABASE_POOL_SIZE + ${purposes.length})`,
    );
    expect(text('docs/operate/operations.md')).toContain(
      `instances × (\`DATABASE_POOL_SIZE\` + ${purposes.length})`,
    );
  });
});

describe("a workspace's rows can be distributed by its id", () => {
  it('all tables with the column are distributed, except those looked up by another column', async () => {
    const found = await service.database.query<{ table: string }>(
      `SELECT table_name AS "table" FROM information_schema.columns
       WHERE table_schema = 'public' AND column_name = 'workspace_id' AND table_name <> ALL ($1)
       ORDER BY 1`,
      [BOUND_TABLES],
    );
    expect([...tables].sort()).toEqual(found.map(({ table }) => table));
  });

  it('every unique key has the column, and so has every reference between the tables', async () => {
    const keys = await service.database.query<{ name: string; columns: string[]; target: string | null }>(
      `SELECT i.relname AS name, NULL AS target, array_agg(a.attname::text) AS columns
       FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = ANY (x.indkey)
       WHERE x.indisunique AND x.indrelid::regclass::text = ANY ($1) GROUP BY 1
       UNION ALL
       SELECT k.conname, k.confrelid::regclass::text, array_agg(a.attname::text)
       FROM pg_constraint k JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey)
       WHERE k.contype = 'f' AND k.conrelid::regclass::text = ANY ($1) AND k.confrelid::regclass::text <> 'users' GROUP BY k.oid, 1, 2`,
      [tables],
    );
    expect(keys.length).toBeGreaterThan(tables.length);
    expect(keys.filter(({ columns }) => !columns.includes('workspace_id'))).toEqual([]);
  });

  it.each([
    ['only a reference between tables', 'SELECT FROM assets a JOIN workspaces w ON w.id = a.workspace_id'],
    ['rows of another table', 'SELECT FROM presence p JOIN workspaces w ON w.id = p.workspace_id'],
    [
      'the id in one place of two',
      'DELETE FROM files WHERE id IN (SELECT id FROM files WHERE workspace_id = $1)',
    ],
    ['another column', 'SELECT FROM workspaces WHERE user_id = $1'],
    ['a range of ids', 'SELECT FROM workspaces WHERE id > $1 ORDER BY id LIMIT 1'],
    ['the id or another column', 'SELECT FROM files WHERE workspace_id = $1 OR id = $2'],
    ['the id or another index', 'SELECT FROM workspaces WHERE id = $1 OR user_id = $2'],
  ])('a statement that names %s needs all nodes: %s', async (_, sql) => {
    expect(await looksAtAllNodes(sql)).toBe(true);
  });

  it.each([
    [
      'once, and joins by it',
      'SELECT FROM assets a JOIN workspaces w ON w.id = a.workspace_id WHERE w.id = $1',
    ],
    ['as one of several', 'SELECT FROM workspaces WHERE id = ANY ($1)'],
    [
      'as rows',
      'DELETE FROM blobs WHERE (workspace_id, id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))',
    ],
  ])('a statement that names the id %s does not: %s', async (_, sql) => {
    expect(await looksAtAllNodes(sql)).toBe(false);
  });

  it('every statement names the id, except those about all workspaces', async () => {
    const found: string[] = [];
    for (const { name, onNodes } of ownStatements()) if (await looksAtAllNodes(onNodes)) found.push(name);
    expect(found.sort()).toEqual(Object.values(LOOK_AT_ALL_NODES).flat().sort());
  });

  it('every statement of a repository names the id, except lists of the workspaces of a user', async () => {
    const dataSource = service.app.get(DataSource);
    const log = jest.spyOn(dataSource.logger, 'logQuery');
    await useRepositories();
    const asked = new Set(log.mock.calls.map(([sql]) => sql).filter(touches));
    log.mockRestore();

    expect(asked.size).toBeGreaterThan(5);
    const found: string[] = [];
    for (const sql of asked) if (await looksAtAllNodes(sql)) found.push(sql);
    expect(found.filter((sql) => !/FROM "workspaces" .*"user_id" = \$1/.test(sql))).toEqual([]);
  });

  it('no other code sends SQL, except backups of whole tables and three modules of the platform', () => {
    const asking = sources.filter((path) => /\.query[<(]/.test(text(join('src', path))));
    const allowed = /^(operations\/backup|platform\/(database|events|jobs))\//; // LISTEN and locks: no table
    expect(asking.filter((path) => !allowed.test(path))).toEqual([]);
  });

  it('a statement for the node of a workspace names the id, and can check for the shard', async () => {
    const sent = ownStatements().filter(({ isOfWorkspace }) => isOfWorkspace);
    expect(sent.length).toBeGreaterThan(10);
    const isGuardable = (sql: string): boolean => /^\s*SELECT\b/.test(sql) && touches(sql);
    expect(sent.filter(({ onNodes }) => !isGuardable(onNodes)).map(({ name }) => name)).toEqual([]);
    for (const { name, onNodes } of sent)
      expect([name, await looksAtAllNodes(onNodes)]).toEqual([name, false]);
  });

  it('every statement in a function compares the id with its argument, once for each table', async () => {
    const functions = await service.database.query<{ name: string; source: string }>(
      `SELECT proname AS name, prosrc AS source FROM pg_proc
       WHERE pronamespace = 'public'::regnamespace AND prorettype <> 'trigger'::regtype`,
    );
    const statements = functions
      .flatMap(({ source }) => source.slice(source.indexOf('BEGIN')).split(';'))
      .filter(touches);
    expect(statements.length).toBeGreaterThan(5);
    const places = new RegExp(`\\b(?:FROM|JOIN|UPDATE|INTO) (?:${[...keyOf.keys()].join('|')})\\b`, 'g');
    const names = /\b(?:workspace_id|w\.id) = (?:ANY \()?p_workspace\b|(?:SELECT|VALUES \() ?p_workspace\b/g;
    for (const sql of statements)
      expect([sql, sql.match(names)?.length]).toEqual([sql, sql.match(places)?.length]);
    for (const { name } of functions.filter(({ source }) => touches(source)))
      expect(document).toContain(`\`${name}\``);
  });

  it('the statements without the id are documented, and so are those that lock rows', () => {
    const rows = [...document.matchAll(/^\| (.+) \| (`[\w.]+`(?:, `[\w.]+`)*) \|$/gm)];
    const documented = rows.map(([, by = '', names = '']) => [by, names.replaceAll('`', '').split(', ')]);
    expect(Object.fromEntries(documented)).toEqual(LOOK_AT_ALL_NODES);

    const names = Object.values(LOOK_AT_ALL_NODES).flat();
    const isOfSeveral = (name: string, sql: string): boolean =>
      names.includes(name) || /\bANY \(\$1\)|unnest\(\$1::uuid\[\]/.test(sql);
    const locking = ownStatements().filter(
      ({ name, onNodes }) => isOfSeveral(name, onNodes) && / UPDATE( OF \w+)?( SKIP LOCKED)?$/m.test(onNodes),
    );
    const [, sentence = ''] = /((?:`[\w.]+`(?:,|\sand)?\s)+)lock\srows/.exec(document) ?? [];
    expect([...sentence.matchAll(/[\w.]+(?=`)/g)].map(String).sort()).toEqual(
      locking.map(({ name }) => name).sort(),
    );
  });
});
