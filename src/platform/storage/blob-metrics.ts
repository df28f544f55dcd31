import { Injectable } from '@nestjs/common';
import { Clock } from '../clock/index.js';
import { Database } from '../database/index.js';
import { Metrics, type Reading } from '../metrics/index.js';
import { blobStatements } from './blobs.queries.js';

interface Waiting {
  readonly state: 'staged' | 'pending_delete';
  readonly blobs: number;
  readonly oldest: Date | null;
}

/** Metrics of the blobs that wait for the sweeper; every instance reports the same values. */
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
      'Age of the oldest staged blob, and how long the oldest blob marked for deletion has been due; 0 if there is none',
      ['state'],
      async () => (await this.read()).map((row) => this.age(row)),
    );
  }

  private age({ state, oldest }: Waiting): Reading {
    const seconds = oldest ? (this.clock.now().getTime() - oldest.getTime()) / 1000 : 0;
    return { labels: { state }, value: Math.max(0, seconds) };
  }

  /** Concurrent readers share one statement. */
  private read(): Promise<Waiting[]> {
    this.reading ??= this.database
      .run<Waiting>(blobStatements.waiting, [])
      .finally(() => (this.reading = undefined));
    return this.reading;
  }
}
