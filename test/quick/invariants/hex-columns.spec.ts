import { randomUUID } from 'node:crypto';
import { createDatabase, type TestDatabase } from '../../kit/index.js';

const DIGITS = '0123456789abcdef'.repeat(8);

const REFUSED: [string, (length: number) => string][] = [
  ['one digit too few', (length) => DIGITS.slice(0, length - 1)],
  ['a letter that is no hex digit', (length) => `${DIGITS.slice(0, length - 1)}g`],
  ['a capital letter', (length) => `${DIGITS.slice(0, length - 1)}A`],
  ['a line break at its end', (length) => `${DIGITS.slice(0, length - 1)}\n`],
  ['a bad line before the digits', (length) => `g\n${DIGITS.slice(0, length - 2)}`],
  ['an empty text', () => ''],
];

let database: TestDatabase;
let workspaceId: string;
beforeAll(async () => {
  database = await createDatabase();
  workspaceId = randomUUID();
  await database.query(
    `INSERT INTO workspaces (id, name, created_at, updated_at, deleted_at) VALUES ($1, 'any', now(), now(), now())`,
    [workspaceId],
  );
});
afterAll(() => database.drop());

const blob = (sha256: string): Promise<unknown> =>
  database.query(
    `INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
     VALUES ($1, $2, 'live', 'inline', 0, $3, '', now())`,
    [workspaceId, randomUUID(), sha256],
  );

const ENCRYPTION = {
  encryption_salt: DIGITS.slice(0, 64),
  verification_hash: DIGITS.slice(0, 64),
  verification_salt: DIGITS,
};

/** Sets all three columns, because a row has all or none of them. */
const encryption =
  (column: keyof typeof ENCRYPTION) =>
  (value: string): Promise<unknown> => {
    const all = { ...ENCRYPTION };
    all[column] = value;
    return database.query(
      'UPDATE workspaces SET encryption_salt = $2, verification_hash = $3, verification_salt = $4 WHERE id = $1',
      [workspaceId, all.encryption_salt, all.verification_hash, all.verification_salt],
    );
  };

describe.each<[string, (value: string) => Promise<unknown>, shortest: number, longest: number]>([
  ['blobs.sha256', blob, 64, 64],
  ['workspaces.encryption_salt', encryption('encryption_salt'), 64, 64],
  ['workspaces.verification_hash', encryption('verification_hash'), 64, 64],
  ['workspaces.verification_salt', encryption('verification_salt'), 32, 128],
])('%s', (column, write, shortest, longest) => {
  it('holds hex of its length', async () => {
    for (const length of [shortest, longest]) await write(DIGITS.slice(0, length));
  });

  it.each([...REFUSED, ['one digit too many', () => `${DIGITS.slice(0, longest)}0`] as const])(
    'is protected from %s by the database itself',
    async (_, value) => {
      const constraint = `${column.replace('.', '_')}_check`;
      await expect(write(value(shortest))).rejects.toMatchObject({ code: '23514', constraint });
    },
  );
});

it('every constraint of the schema is validated, so it holds for older rows too', async () => {
  expect(await database.query('SELECT conname FROM pg_constraint WHERE NOT convalidated')).toEqual([]);
});
