import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { OperatorError } from '../config/index.js';
import { endQuietly } from './silence.js';

/** A setting that no server and no pooler knows: what a session writes there is visible in that session alone. */
const MARK = 'cloud_sync.session_of';
const ANSWER_WITHIN_MS = 5_000;

const write = `SELECT set_config('${MARK}', $1, false)`;
const read = `SELECT current_setting('${MARK}', true) AS mark`;

/**
 * Refuses a pooler that gives a session's connection to other sessions between transactions: settings, locks, LISTEN and
 * prepared statements would be lost, or be those of another session. A second session looks for the setting of the first one
 * repeatedly, because a pooler may use its connections in turn.
 * @param session an open connection
 * @throws OperatorError
 */
export async function refuseTransactionPooler(session: pg.Client, config: pg.ClientConfig): Promise<void> {
  const mark = randomUUID();
  const other = new pg.Client({ ...config, query_timeout: ANSWER_WITHIN_MS });
  other.on('error', () => undefined); // the awaited call rejects too
  try {
    await session.query(write, [mark]);
    await other.connect();
    if ((await markSeenBy(other)) === mark) throw transactionPooler(); // in statement mode there is no BEGIN
    for (let look = 0; look < 2; look++) {
      await other.query('BEGIN');
      if ((await markSeenBy(other)) === mark || (await markSeenBy(session)) !== mark)
        throw transactionPooler();
      await other.query('COMMIT');
    }
  } catch (error) {
    if (error instanceof OperatorError) throw error; // any other failure says nothing about a pooler
  } finally {
    await endQuietly(other);
  }
}

async function markSeenBy(client: pg.Client): Promise<string | null | undefined> {
  const { rows } = await client.query<{ mark: string | null }>(read);
  return rows[0]?.mark;
}

const transactionPooler = (): OperatorError =>
  new OperatorError(
    'DATABASE_URL leads to a connection pooler in transaction or statement mode, which keeps no settings, locks and prepared ' +
      'statements of a session; set its pool mode to session, or point DATABASE_URL at PostgreSQL itself.',
  );
