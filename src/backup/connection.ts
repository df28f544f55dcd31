import pg from 'pg';
import { type Database, DURABLE, WITHOUT_LIMITS } from '../platform/database/index.js';

/** Text means the same to every server that reads it, and nothing ends what takes long. */
const SETTINGS = `
  ${WITHOUT_LIMITS}; ${DURABLE};
  SET client_encoding = 'UTF8'; SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres';
  SET bytea_output = 'hex'; SET extra_float_digits = 1;
`;

/** Runs work in one transaction on a connection of its own. @throws what `work` throws; nothing is changed then */
export async function inOneTransaction<T>(
  database: Database,
  begin: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = database.dedicatedClient('backup', 0); // a table may take hours
  client.on('error', () => undefined); // the statement under way fails, and says so
  await client.connect();
  try {
    await client.query(SETTINGS);
    await client.query(begin);
    const result = await work(client);
    const { command } = await client.query('COMMIT');
    if (command !== 'COMMIT') throw new Error(`the transaction ended with ${command}`);
    return result;
  } finally {
    await client.end().catch(() => undefined); // rolls back what is not committed
  }
}

export async function appliedMigrations(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>('SELECT name FROM migrations ORDER BY id');
  return rows.map(({ name }) => name);
}
