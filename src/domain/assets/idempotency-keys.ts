import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { InjectRepository } from '@nestjs/typeorm';
import { In, type Repository } from 'typeorm';
import { Database, removeInBatches } from '../../platform/database/index.js';
import { NightlyJobs, TrustedTime } from '../../platform/jobs/index.js';
import { Log } from '../../platform/log/index.js';
import { AssetIdempotencyKey } from './asset-idempotency-key.entity.js';
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
    @InjectRepository(AssetIdempotencyKey) private readonly keys: Repository<AssetIdempotencyKey>,
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
    let removed = 0;
    for (const part of await this.database.parts())
      removed += await removeInBatches(BATCH, () => part.run(assetStatements.forgetKeys, values), signal);
    return removed;
  }

  /** Removes up to one batch of a deleted workspace's keys. Returns the number removed. */
  async purge(workspaceId: string): Promise<number> {
    const some = await this.keys.find({ select: { key: true }, where: { workspaceId }, take: BATCH });
    if (some.length === 0) return 0;
    const { affected } = await this.keys.delete({ workspaceId, key: In(some.map(({ key }) => key)) });
    return affected ?? 0;
  }
}
