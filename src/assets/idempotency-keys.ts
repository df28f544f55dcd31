import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Database, removeInBatches } from '../platform/database/index.js';
import { NightlyJobs, TrustedTime } from '../platform/jobs/index.js';
import { Log } from '../platform/log/index.js';
import { assetStatements } from './assets.queries.js';

const WINDOW_MS = 24 * 60 * 60_000;
const FORGET_EVERY_MS = 10 * 60_000;
const BATCH = 1000;

/** A key first used at or before this time counts as unused. */
export function oldestValidKey(now: Date): Date {
  return new Date(now.getTime() - WINDOW_MS);
}

/** Removes keys of uploads that can no longer be repeated. */
@Injectable()
export class IdempotencyKeys {
  constructor(
    private readonly database: Database,
    private readonly time: TrustedTime,
    private readonly log: Log,
    jobs: NightlyJobs,
  ) {
    jobs.add('idempotency-keys', async (now, signal) => ({
      removed: await this.forgetExpiredKeys(now, signal),
    }));
  }

  @Interval(FORGET_EVERY_MS)
  async forgetNow(): Promise<void> {
    await this.log.bestEffort('remove expired idempotency keys', async () =>
      this.forgetExpiredKeys(await this.time.now()),
    );
  }

  /**
   * Works in bounded batches; may run on several instances at once. Returns the number of keys removed.
   * @param signal once aborted, the run ends after the current batch
   */
  async forgetExpiredKeys(now: Date, signal?: AbortSignal): Promise<number> {
    const values = [oldestValidKey(now), BATCH];
    const counts = await this.database.onParts((part) =>
      removeInBatches(BATCH, () => part.run(assetStatements.forgetKeys, values), signal),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }
}
