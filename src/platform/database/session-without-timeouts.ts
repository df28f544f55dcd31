import type { Database } from './database.js';
import type { Run } from './distribution/index.js';
import { execute } from './execute.js';
import { DURABLE, WITHOUT_LIMITS } from './session.js';
import { endQuietly } from './silence.js';

/** A dedicated connection that commits each statement separately and has no time limits. */
export interface SessionWithoutTimeouts {
  readonly run: Run;
  /** Must be called by the code that opened the session. Never rejects. */
  end(): Promise<void>;
}

/** For admin commands that read everything: the pool of an instance has no connection to spare for them. */
export async function sessionWithoutTimeouts(
  database: Database,
  purpose: string,
): Promise<SessionWithoutTimeouts> {
  const client = database.dedicatedClient(purpose, 0);
  client.on('error', () => undefined); // the current statement rejects too
  const end = (): Promise<void> => endQuietly(client);
  try {
    await client.connect();
    await client.query(`${WITHOUT_LIMITS}; ${DURABLE}`);
    const run: Run = (statement, values) => {
      const text = database.isDistributed ? statement.onNodes : statement.text;
      return execute(client, { ...statement, text }, values);
    };
    return { run, end };
  } catch (error) {
    await end();
    throw error;
  }
}
