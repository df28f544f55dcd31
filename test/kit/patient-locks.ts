import { Database } from '../../src/platform/database/index.js';
import type { TestService } from './service.js';

/** Lets the service's statements wait for locks as long as a test holds them, and not for three seconds. */
export async function waitPatiently({ app }: TestService): Promise<void> {
  const { pool } = app.get(Database);
  const PATIENT = 'SET lock_timeout = 0; SET statement_timeout = 0';
  pool.on('connect', (client) => void client.query(PATIENT));
  const clients = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
  for (const client of clients) {
    await client.query(PATIENT);
    client.release();
  }
}
