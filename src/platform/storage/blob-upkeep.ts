import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { shared } from '../async.js';
import { Clock } from '../clock.js';
import { Configuration } from '../config/index.js';
import { Database, type Parameter, type Statement } from '../database/index.js';
import type { Examination, Finding } from '../doctor.js';
import { TrustedTime } from '../jobs/index.js';
import { Log } from '../log.js';
import { Metrics, type Reading } from '../metrics.js';
import { type BlobLocation, BlobStores } from './blob-store.js';
import { BlobSweeper, STAGED_FOR_MS, SWEEP_EVERY_MS } from './blob-sweeper.js';
import {
  blobStatements,
  doctorStatements,
  moveStatements,
  orphanedCopyStatements,
  sweepStatements,
} from './blobs.queries.js';
import { OrphanedCopies } from './orphaned-copies.js';

/** The number of items that a sweep has deleted. */
export interface Swept {
  /** Blobs without references. */
  readonly blobs: number;
  /** Copies left behind by moves between stores. */
  readonly copies: number;
  /** Unfinished uploads. */
  readonly drafts: number;
  /** Blobs and copies that a store could not delete; they are retried. */
  readonly stuck: number;
}

/** Runs all sweeps. Every instance runs them; concurrent sweeps do not interfere. */
@Injectable()
export class BlobUpkeep {
  constructor(
    private readonly sweeper: BlobSweeper,
    private readonly orphanedCopies: OrphanedCopies,
    private readonly stores: BlobStores,
    private readonly time: TrustedTime,
    private readonly log: Log,
  ) {}

  @Interval(SWEEP_EVERY_MS)
  async sweepNow(): Promise<void> {
    await this.log.bestEffort('sweep blobs', async () => this.sweep(await this.time.now()));
  }

  /**
   * Sweeps only blobs. Returns the number of deleted blobs.
   * @throws as `sweep`
   */
  async sweepBlobs(): Promise<number> {
    return this.sweeper.sweep(await this.time.now());
  }

  /**
   * @param signal once aborted, stops after the current batch; the next sweep continues
   * @throws when the database or a store fails; work completed before the failure is kept
   */
  async sweep(now: Date, signal?: AbortSignal): Promise<Swept> {
    const blobs = await this.sweeper.sweepAll(now, signal);
    const copies = await this.orphanedCopies.sweep(now, signal);
    const draftsBefore = new Date(now.getTime() - STAGED_FOR_MS);
    let drafts = 0;
    for (const store of await this.stores.opened()) drafts += await store.clearDrafts(draftsBefore, signal);
    return { blobs: blobs.gone, copies: copies.gone, drafts, stuck: blobs.stuck + copies.stuck };
  }
}

interface Waiting {
  readonly state: 'staged' | 'pending_delete';
  readonly blobs: number;
  readonly oldest: Date | null;
}

/** Metrics of the blobs that wait for the sweeper; every instance reports the same values. */
@Injectable()
export class BlobMetrics {
  constructor(
    database: Database,
    private readonly clock: Clock,
    metrics: Metrics,
  ) {
    const read = shared(() => database.run<Waiting>(blobStatements.waiting, []));
    metrics.gauge(
      'cloud_sync_blobs_waiting',
      'Blobs that are staged or marked for deletion',
      ['state'],
      async () => (await read()).map(({ state, blobs }) => ({ labels: { state }, value: blobs })),
    );
    metrics.gauge(
      'cloud_sync_blobs_waiting_oldest_seconds',
      'Age of the oldest staged blob, and how long the oldest blob marked for deletion has been due; 0 if there is none',
      ['state'],
      async () => (await read()).map((row) => this.age(row)),
    );
  }

  private age({ state, oldest }: Waiting): Reading {
    const seconds = oldest ? (this.clock.now().getTime() - oldest.getTime()) / 1000 : 0;
    return { labels: { state }, value: Math.max(0, seconds) };
  }
}

/** The time after which several sweeps must have run without effect. */
const OVERDUE_MS = 3 * SWEEP_EVERY_MS;

interface Overdue {
  staged: number;
  dying: number;
  copies: number;
}

/** Checks that blobs and copies marked for deletion are deleted in time. */
@Injectable()
export class SweepingCheck {
  constructor(
    private readonly database: Database,
    private readonly upkeep: BlobUpkeep,
  ) {}

  /** With `fix`, sweeps first. */
  async *overdue({ now, fix }: Examination): AsyncGenerator<Finding> {
    const before = await this.count(now);
    if (fix) await this.upkeep.sweep(now);
    const after = fix ? await this.count(now) : before;
    const names = {
      staged: 'dead uploads',
      dying: 'blobs past their grace',
      copies: 'copies left by moves',
    };
    for (const kind of ['staged', 'dying', 'copies'] as const) {
      if (before[kind] === 0) continue;
      yield {
        fault: 'not swept',
        subject: names[kind],
        problem: `${before[kind]} have been waiting for the sweeper too long.`,
        cure: 'Run `blobs sweep`; the log says what could not be deleted, and why.',
        isFixed: after[kind] === 0,
      };
    }
  }

  private async count(now: Date): Promise<Overdue> {
    const due = new Date(now.getTime() - OVERDUE_MS);
    const staged = new Date(due.getTime() - STAGED_FOR_MS);
    const [overdue] = await this.database.run<Overdue>(doctorStatements.overdue, [staged, due]);
    return overdue ?? { staged: 0, dying: 0, copies: 0 };
  }
}

/** Counts what a sweep or a move would do, without locks or changes. */
@Injectable()
export class BlobPreview {
  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Counts what a sweep would delete at that time, except unfinished uploads in an S3 store. */
  async sweep(now: Date): Promise<Pick<Swept, 'blobs' | 'copies'>> {
    const stagedBefore = new Date(now.getTime() - STAGED_FOR_MS);
    const blobs = await this.count(sweepStatements.countDue, [now, this.clock.now(), stagedBefore]);
    const copies = await this.count(orphanedCopyStatements.countDue, [now, this.clock.now()]);
    return { blobs, copies };
  }

  /** How many blobs a move to that location would move. */
  move(to: BlobLocation): Promise<number> {
    return this.count(moveStatements.countDue, [to, this.configuration.inlineBlobBytes]);
  }

  private async count(query: Statement, values: Parameter[]): Promise<number> {
    const [row] = await this.database.run<{ due: number }>(query, values);
    return row?.due ?? 0;
  }
}
