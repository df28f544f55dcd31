import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock/index.js';
import { Database, statement } from '../platform/database/index.js';
import { Metrics, type Reading } from '../platform/metrics/index.js';

/** An upload counts from its beginning, what is to be removed from when it was due. */
const waiting = statement(
  'blobs.waiting',
  `SELECT 'staged' AS state, count(*) AS blobs, min(created_at) AS oldest FROM blobs WHERE state = 'staged'
   UNION ALL
   SELECT 'pending_delete', count(*), min(not_before) FROM blobs WHERE state = 'dying'`,
);

interface Waiting {
  readonly state: 'staged' | 'pending_delete';
  readonly blobs: number;
  readonly oldest: Date | null;
}

/** The blobs that wait for the sweeper, in numbers; every instance tells the same. */
@Injectable()
export class BlobMetrics {
  private reading: Promise<Waiting[]> | undefined;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    metrics: Metrics,
  ) {
    metrics.gauge(
      'cloud_sync_blobs_waiting',
      'Blobs that are staged or marked for deletion',
      ['state'],
      async () => (await this.read()).map(({ state, blobs }) => ({ labels: { state }, value: blobs })),
    );
    metrics.gauge(
      'cloud_sync_blobs_waiting_oldest_seconds',
      'Age of the oldest staged blob, and how long the oldest one marked for deletion is due; 0 when there is none',
      ['state'],
      async () => (await this.read()).map((row) => this.age(row)),
    );
  }

  private age({ state, oldest }: Waiting): Reading {
    const seconds = oldest ? (this.clock.now().getTime() - oldest.getTime()) / 1000 : 0;
    return { labels: { state }, value: Math.max(0, seconds) };
  }

  /** One statement for all who look at once. */
  private read(): Promise<Waiting[]> {
    this.reading ??= this.database.run<Waiting>(waiting, []).finally(() => (this.reading = undefined));
    return this.reading;
  }
}
