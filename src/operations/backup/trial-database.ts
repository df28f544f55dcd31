import { createHash } from 'node:crypto';
import { OperatorError } from '../../platform/config/index.js';
import { Database, sqlState } from '../../platform/database/index.js';

const DENIED = '42501';

interface Place {
  readonly name: string;
  readonly locale: string;
}

/** The service's database with its encoding and locale: those of the server may be others, such as SQL_ASCII. */
const PLACE = `
  SELECT datname AS name,
         format('ENCODING %L LC_COLLATE %L LC_CTYPE %L', pg_encoding_to_char(encoding), datcollate, datctype) AS locale
  FROM pg_database WHERE datname = current_database()`;

/** The name of the trial of a database; always the same, so that the next trial removes what a dead one has left. */
const nameFor = (database: string): string =>
  `verify_${createHash('sha256').update(database).digest('hex').slice(0, 16)}`;

/** The same server and user, with another database. */
function withDatabase(url: string, name: string): string {
  return url.replace(/^([a-z]+:\/\/[^/?]*)(?:\/[^?]*)?/, `$1/${name}`);
}

/**
 * Lends `work` the URL of an empty database on the service's own server, and drops it afterwards. The caller must hold the lock
 * of the backups.
 * @throws OperatorError when the role may not create databases
 */
export async function onTrialDatabase<T>(
  database: Database,
  url: string,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const client = database.dedicatedClient('backup trial', 0);
  client.on('error', () => undefined); // the current statement fails too
  await client.connect();
  try {
    const { rows } = await client.query<Place>(PLACE);
    const name = nameFor(rows[0]?.name ?? '');
    const drop = `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`;
    await client.query(drop);
    await client.query(`CREATE DATABASE ${name} TEMPLATE template0 ${rows[0]?.locale ?? ''}`);
    try {
      return await work(withDatabase(url, name));
    } finally {
      await client.query(drop);
    }
  } catch (error) {
    if (sqlState(error) !== DENIED) throw error;
    throw new OperatorError(
      'The backup cannot be verified: there is no embedded PostgreSQL here, and the role of DATABASE_URL may not create a database for the trial; give it CREATEDB.',
      { cause: error },
    );
  } finally {
    await client.end().catch(() => undefined);
  }
}
