import { Injectable } from '@nestjs/common';
import type { Client } from 'pg';
import { Database, endQuietly, WITHOUT_LIMITS } from '../database/index.js';

/** The lock of the nightly jobs. */
const NIGHT = 7_325_190_002;

/** The lock of scheduled backups, which take hours and must not delay the nightly jobs. */
export const BACKUP_LOCK = 7_325_190_003;

/** Query timeout of the lock's connection. No limit: waiting for the lock may take hours. */
const NO_LIMIT = 0;

/**
 * Allows one run of jobs at a time, across all instances: an advisory lock on its own connection. Danger: a connection can be
 * lost without notice, and the lock with it, so a job must also be correct if it runs twice at the same time.
 */
@Injectable()
export class JobLock {
  constructor(private readonly database: Database) {}

  /**
   * Runs `work` under the lock. Its signal aborts when the lock is lost or `stop` aborts.
   * @param isPatient waits for the lock without a limit
   * @returns undefined when another process holds the lock, or `stop` aborts before the lock is acquired
   */
  async hold<T>(
    stop: AbortSignal,
    isPatient: boolean,
    work: (signal: AbortSignal) => Promise<T>,
    lock = NIGHT,
  ): Promise<T | undefined> {
    const hasStopped = (): boolean => stop.aborted;
    if (hasStopped()) return undefined; // no event would follow
    const client = this.database.dedicatedClient('jobs', NO_LIMIT);
    const lost = new AbortController();
    client.on('error', () => lost.abort());
    const end = (): void => void endQuietly(client);
    stop.addEventListener('abort', end, { once: true });
    try {
      await client.connect();
      await client.query(WITHOUT_LIMITS);
      const isOurs = await (isPatient ? wait(client, lock) : attempt(client, lock));
      stop.removeEventListener('abort', end); // keep the lock until the work has ended
      return isOurs && !hasStopped() ? await work(AbortSignal.any([stop, lost.signal])) : undefined;
    } catch (error) {
      if (hasStopped()) return undefined;
      throw error;
    } finally {
      stop.removeEventListener('abort', end);
      await endQuietly(client);
    }
  }
}

async function wait(client: Client, lock: number): Promise<true> {
  await client.query('SELECT pg_advisory_lock($1)', [lock]);
  return true;
}

async function attempt(client: Client, lock: number): Promise<boolean> {
  const { rows } = await client.query<{ isOurs: boolean }>('SELECT pg_try_advisory_lock($1) AS "isOurs"', [
    lock,
  ]);
  return rows[0]?.isOurs ?? false;
}
