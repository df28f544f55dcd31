import pg from 'pg';
import { OperatorError } from '../../config/index.js';
import { connectFault } from './connect-fault.js';
import { endQuietly } from './silence.js';

const CONNECT_WITHIN_MS = 5_000;

/**
 * Connects once as DATABASE_URL says, before anything is built on it: whatever goes wrong here is a fault of the URL, of a
 * `PG*` variable that completes it or of the server, which the operator can mend.
 * @throws OperatorError
 */
export async function tryConnection(url: string): Promise<void> {
  let client: pg.Client | undefined;
  try {
    client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_WITHIN_MS });
    client.on('error', () => undefined); // also rejects what is awaited
    await client.connect();
    await client.query('SELECT 1'); // which a connection for replication does not take
  } catch (error) {
    throw asSentence(error);
  } finally {
    if (client) await endQuietly(client);
  }
}

function asSentence(error: unknown): OperatorError {
  const fault = connectFault(error);
  if (fault instanceof OperatorError) return fault;
  const words = error instanceof Error ? error.message : String(error);
  return new OperatorError(
    `PostgreSQL cannot be used as DATABASE_URL and the PG* variables say (${words}); check their parameters.`,
    { cause: error },
  );
}
