import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../kit/deployment.js';
import { createDatabase, type TestDatabase } from '../../kit/index.js';
import { schemaText } from '../../kit/schema-text.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const committed = (): string => readFileSync(join(ROOT, 'docs', 'reference', 'schema.sql'), 'utf8');
const current = (): Promise<string> => schemaText(database.query);

describe('docs/reference/schema.sql', () => {
  it('shows the schema of a migrated database; `npm run schema` writes it', async () => {
    expect(committed().split('\n')).toEqual((await current()).split('\n'));
  });

  it('creates the same schema in an empty database', async () => {
    const text = committed();
    const empty = await createDatabase({ isEmpty: true });
    try {
      await empty.query(text);
      expect(withoutBrackets(await schemaText(empty.query))).toEqual(withoutBrackets(text));
    } finally {
      await empty.drop();
    }
  });
});

describe('the generator of the schema', () => {
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

/** PostgreSQL drops some brackets of a condition that it parses for the second time. */
const withoutBrackets = (text: string): string[] => text.replaceAll(/[()]/g, '').split('\n');
