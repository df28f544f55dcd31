import { setTimeout as delay } from 'node:timers/promises';
import type { QueryRunner } from 'typeorm';
import { sqlState } from '../database-errors.js';

const LOCK_TIMEOUT = '55P03';

/** Shorter than the server's deadlock timeout: a deadlock check could end an upload. */
const WAIT_MS = 250;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Locks tables exclusively until the transaction ends. Retries with a short timeout instead of waiting, because every later
 * statement queues behind a waiting lock: behind a backup, for hours. Name the tables in the order in which uploads lock them:
 * workspaces, blobs, files, versions, changes.
 */
export async function underTableLocks(runner: QueryRunner, tables: readonly string[]): Promise<void> {
  await runner.query(`SET LOCAL lock_timeout = ${WAIT_MS}`);
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    await runner.query('SAVEPOINT unlocked');
    try {
      await runner.query(`LOCK TABLE ${tables.join(', ')} IN ACCESS EXCLUSIVE MODE`);
      break;
    } catch (error) {
      if (sqlState(error) !== LOCK_TIMEOUT) throw error;
      await runner.query('ROLLBACK TO unlocked');
      await delay(pause);
    }
  }
  await runner.query('SET LOCAL lock_timeout = 0');
}
