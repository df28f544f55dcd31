import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createDatabase, type TestDatabase } from '../kit/index.js';

const ROOT = join(import.meta.dirname, '..', '..');
const GENERATOR = pathToFileURL(join(ROOT, 'scripts', 'schema-text.mjs')).href;

const { schemaText } = (await import(GENERATOR)) as {
  schemaText: (query: TestDatabase['query']) => Promise<string>;
};

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const current = (): Promise<string> => schemaText(database.query);

describe('docs/reference/schema.sql', () => {
  it('shows the schema of a migrated database; `npm run schema` writes it', async () => {
    const committed = readFileSync(join(ROOT, 'docs', 'reference', 'schema.sql'), 'utf8');
    expect(committed.split('\n')).toEqual((await current()).split('\n'));
  });
});

describe('the generator of the schema', () => {
  it('writes SQL that makes the same schema in an empty database', async () => {
    const text = await current();
    const empty = await createDatabase({ isEmpty: true });
    try {
      await empty.query(tablesBeforeReferences(text));
      expect(withoutBrackets(await schemaText(empty.query))).toEqual(withoutBrackets(text));
    } finally {
      await empty.drop();
    }
  });

  it('shows every change of a table, an index and a function', async () => {
    const before = (await current()).split('\n');
    const changes = [
      'ALTER TABLE workspaces ADD COLUMN colour text',
      'ALTER TABLE workspaces ALTER COLUMN name SET STATISTICS 7',
      'CREATE INDEX files_by_size ON files (encrypted_size)',
      "CREATE FUNCTION answer() RETURNS int LANGUAGE sql AS 'SELECT 42'",
    ];
    const changed = await createDatabase();
    try {
      for (const sql of changes) await changed.query(sql);
      const after = (await schemaText(changed.query)).split('\n');
      const added = after.filter((line) => !before.includes(line)).join('\n');
      for (const part of ['colour text', 'STATISTICS 7', 'files_by_size', 'FUNCTION answer()'])
        expect(added).toContain(part);
    } finally {
      await changed.drop();
    }
  });

  it('refuses what it cannot describe', async () => {
    const other = await createDatabase();
    try {
      await other.query('CREATE VIEW names AS SELECT name FROM users');
      await expect(schemaText(other.query)).rejects.toThrow('does not describe: v names');
    } finally {
      await other.drop();
    }
  });
});

/** PostgreSQL leaves some out of a condition that it reads for the second time. */
const withoutBrackets = (text: string): string[] => text.replaceAll(/[()]/g, '').split('\n');

/** Tables stand in the order of their names, so that each reference follows once all tables are there. */
function tablesBeforeReferences(text: string): string {
  const references: string[] = [];
  const tables = text.replace(/^CREATE (?:UNLOGGED )?TABLE (\w+) \(\n[^;]*?\n\)/gm, (create, table: string) =>
    create
      .replace(/,\n {2}(CONSTRAINT \w+ FOREIGN KEY .*?)(?=,?\n)/g, (_, reference: string) => {
        references.push(`ALTER TABLE ${table} ADD ${reference};`);
        return '';
      })
      .replace(/,\n\)$/, '\n)'),
  );
  return `SET check_function_bodies = off;\n${tables}\n${references.join('\n')}`;
}
