import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { createDataSource, type ServiceDataSource } from '../../../src/platform/database/index.js';
import { createDatabase, type TestDatabase } from '../../kit/database.js';
import { rounds } from '../../kit/rounds.js';

let database: TestDatabase;
let source: ServiceDataSource;
let client: pg.PoolClient;
beforeAll(async () => {
  database = await createDatabase({ isEmpty: true });
  const settings = { poolSize: 1, entities: [], onPoolError: () => undefined };
  source = createDataSource({ target: database.url, ...settings });
  await source.initialize();
  client = (await source.createRunner().connect()) as pg.PoolClient;
});
afterAll(async () => {
  await source.destroy();
  await database.drop();
});

async function query(text: string, values: unknown[], binary: boolean): Promise<unknown[]> {
  return (await client.query({ text, values, binary, queryMode: 'extended' } as pg.QueryConfig)).rows;
}

const SCALARS = `
  SELECT true AS yes, false AS no, 0 AS zero, -2147483648 AS least, 2147483647 AS most,
         9007199254740991 AS large, -9007199254740991 AS small, ''::text AS empty, 'Ünïcode – 🙂'::text AS text,
         '0190b5e2-7c1a-7f00-8000-0123456789ab'::uuid AS id, NULL::bytea AS nothing, NULL::bigint AS none,
         '2026-11-29 12:34:56.789+00'::timestamptz AS now, '1969-07-20 20:17:40+00'::timestamptz AS before`;

describe('results in binary format', () => {
  it('have the values of results in text format', async () => {
    expect(await query(SCALARS, [], true)).toEqual(await query(SCALARS, [], false));
  });

  it.each([0, 1, 4096, 65_536, rounds(200_000, 3_000_000)])(
    'have the bytes sent: all values and %i more',
    async (length) => {
      const bytes = Buffer.concat([
        Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
        randomBytes(length),
      ]);
      const text = `SELECT n, substring($1::bytea FROM n) AS bytes FROM generate_series(1, 3) n`;
      const rows = await query(text, [bytes], true);
      expect(rows).toEqual([0, 1, 2].map((n) => ({ n: n + 1, bytes: bytes.subarray(n) })));
    },
  );

  it('can alternate with results in text format on a connection, even after an error', async () => {
    const bytes = Buffer.from([0, 0x80, 0xff]);
    for (let round = 0; round < 3; round++) {
      expect(await query('SELECT $1::bytea AS bytes', [bytes], true)).toEqual([{ bytes }]);
      await expect(query('SELECT 1 / 0', [], true)).rejects.toThrow('division by zero');
      expect(
        await query('SELECT $1::bytea AS bytes, now() < $2 AS past', [bytes, new Date(0)], false),
      ).toEqual([{ bytes, past: false }]);
    }
  });

  it.each([
    ['a type that no statement returns', 'SELECT 1.5 AS number', 'results of the type 1700 cannot be read'],
    [
      'an integer that JavaScript cannot hold',
      'SELECT 9007199254740992',
      'a bigint exceeds the safe integers',
    ],
  ])('refuse %s, and leave the connection usable', async (_, text, problem) => {
    await expect(query(text, [], true)).rejects.toThrow(problem);
    expect(await query('SELECT 1 AS one', [], true)).toEqual([{ one: 1 }]);
  });
});
