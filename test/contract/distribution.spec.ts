import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { knownStatements } from '../../src/platform/database/index.js';
import { startService, type TestService } from '../kit/index.js';
import { ROOT, text } from '../kit/deployment.js';

/** Jobs, metrics and the doctor look at all nodes; nothing that a request waits for does. */
const FANS_OUT = [
  'blobs.any_stored', // at start: whether the store that is configured is needed
  'blobs.condemn_staged',
  'blobs.count_due',
  'blobs.count_move_due',
  'blobs.lock_due',
  'blobs.move_page',
  'blobs.waiting',
  'blob_leftovers.count_due',
  'doctor.inline_page',
  'doctor.overdue',
  'doctor.stored',
];

/** Reads the catalog, where the name of a table is a text. */
const OF_THE_CATALOG = 'blobs.foreign_keys';

/** Have the column, and are looked up by something else. */
const STAY = ['access_tokens', 'key_sessions', 'presence'];

/** Names a workspace for each row that it reads or writes: compares, joins or inserts the column. */
const NAMES_WORKSPACE =
  /\bworkspace_id\s*=|=\s*\w+\.workspace_id\b|\bworkspace_id\b[^()]*\)\s*(?:=|IN\b)|INSERT INTO \w+ \([^)]*\bworkspace_id\b|GROUP BY[^;]*\bworkspace_id\b/;

let service: TestService;
let tables: string[];
beforeAll(async () => {
  service = await startService();
  tables = [...text('docs/scaling.md').matchAll(/create_distributed_table\('(\w+)', 'workspace_id'/g)].map(
    ([, table]) => table ?? '',
  );
});
afterAll(() => service.close());

const touches = (sql: string): boolean => tables.some((table) => new RegExp(`\\b${table}\\b`).test(sql));

describe('the connections of an instance', () => {
  it('are as many as documented: those of its pool, and one for each purpose of its own', () => {
    const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
    const purposes = sources
      .filter((path) => path.endsWith('.ts') && !path.startsWith('backup/')) // that one is the admin command's
      .flatMap((path) => [...text(join('src', path)).matchAll(/dedicatedClient\('(\w+)'/g)])
      .map(([, purpose]) => purpose);
    expect(purposes.sort()).toEqual(['jobs', 'listen', 'notify', 'readiness']);
    expect(text('docs/scaling.md')).toContain(`instances × (DATABASE_POOL_SIZE + ${purposes.length})`);
    expect(text('docs/operations.md')).toContain(`instances × (\`DATABASE_POOL_SIZE\` + ${purposes.length})`);
  });
});

describe("a workspace's rows can be distributed by workspace_id", () => {
  it('all tables with the column are, but those that are looked up by something else', async () => {
    const found = await service.database.query<{ table: string }>(
      `SELECT table_name AS "table" FROM information_schema.columns
       WHERE table_schema = 'public' AND column_name = 'workspace_id' AND table_name <> ALL ($1)
       ORDER BY 1`,
      [STAY],
    );
    expect([...tables].sort()).toEqual(found.map(({ table }) => table));
  });

  it('every unique key of theirs has the column, and every reference among them', async () => {
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

  it('no statement on them lacks it, but those that look after all workspaces', () => {
    const lacking = knownStatements().filter(({ text }) => touches(text) && !NAMES_WORKSPACE.test(text));
    const allowed = [...FANS_OUT, OF_THE_CATALOG];
    expect(lacking.map(({ name }) => name).filter((name) => !allowed.includes(name))).toEqual([]);
    const names = knownStatements().map(({ name }) => name);
    expect(allowed.filter((name) => !names.includes(name))).toEqual([]);
  });

  it('nor does one within a function', async () => {
    const functions = await service.database.query<{ name: string; source: string }>(
      `SELECT proname AS name, prosrc AS source FROM pg_proc WHERE pronamespace = 'public'::regnamespace`,
    );
    const statements = functions
      .flatMap(({ source }) => source.slice(source.indexOf('BEGIN')).split(';'))
      .filter(touches);
    expect(statements.length).toBeGreaterThan(5);
    expect(statements.filter((sql) => !NAMES_WORKSPACE.test(sql))).toEqual([]);
    for (const { name } of functions) expect(text('docs/scaling.md')).toContain(`\`${name}\``);
  });

  it('those that do not are documented', () => {
    for (const name of FANS_OUT) expect(text('docs/scaling.md')).toContain(`\`${name}\``);
  });
});
