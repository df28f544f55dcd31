import type { Pool, PoolClient } from 'pg';
import { Database } from '../../src/platform/database/index.js';
import { endWhenSilent } from '../../src/platform/database/session.js';
import type { TestService } from './service.js';

const PATIENT = `SET lock_timeout = 0; SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0`;
/** Disables the timeout of silent connections. */
const NEVER = 0;

/** Lets the service's statements wait for locks, and its transactions hold them, without time limit. */
export function waitPatiently({ app }: TestService): Promise<void> {
  return waitPatientlyIn(app.get(Database).pool);
}

/** The same for the connections of one pool. */
export async function waitPatientlyIn(pool: Pool): Promise<void> {
  pool.on('connect', (client) => void makePatient(client));
  const clients = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
  for (const client of clients) {
    await makePatient(client);
    client.release();
  }
}

async function makePatient(client: PoolClient): Promise<void> {
  endWhenSilent(client, NEVER);
  await client.query(PATIENT);
}
