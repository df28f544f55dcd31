import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { Clock } from '../clock.js';
import { Database } from '../database/index.js';
import { Log } from '../log.js';
import { timeStatements } from './job-runs.js';

/**
 * Whether this process runs periodic work by itself. The service does; an admin command only does its own task, so it neither
 * runs the nightly jobs if it takes long nor changes data in a dry run.
 */
export class Background {
  constructor(readonly isOn: boolean) {}
}

/** A clock that has advanced this much more than the process has been running has jumped, or the machine was asleep. */
const TOLERATED_DRIFT_MS = 10 * 60_000;

/** The last trusted reading of the clock, with the process's elapsed time at that moment. */
interface Trusted {
  readonly now: number;
  readonly elapsed: number;
}

/**
 * The time that jobs use to record what has ended and to delete what has expired. A clock that is wrong at start or jumps must
 * not expire data irrevocably: a clock more than 48 hours ahead of the last trusted time is doubted, and that earlier time is
 * used instead. The clock is trusted again after it has been consistent for a day, as after a month without power. A time that is
 * too early is harmless: it only delays work.
 */
@Injectable()
export class TrustedTime implements OnApplicationBootstrap {
  private trusted: Trusted | undefined;
  private isDoubted = false;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly background: Background,
    private readonly log: Log,
  ) {}

  /** Runs before any job: the clock is checked for consistency from this moment on. */
  async onApplicationBootstrap(): Promise<void> {
    if (this.background.isOn) await this.log.bestEffort('check the clock', () => this.now());
  }

  /** Never later than the clock. An admin command reads without writing. */
  async now(): Promise<Date> {
    const now = this.clock.now();
    const elapsed = this.clock.elapsed();
    const [row] = this.background.isOn
      ? await this.database.run<{ asOf: Date }>(timeStatements.look, [now, this.goesOn(now, elapsed)])
      : await this.database.run<{ asOf: Date }>(timeStatements.peek, [now]);
    const asOf = row?.asOf ?? now;
    this.note(now, elapsed, asOf);
    return asOf < now ? asOf : now;
  }

  /** Whether the clock was trusted earlier in this process and has since advanced no more than the process has been running. */
  private goesOn(now: Date, elapsed: number): boolean {
    if (!this.trusted) return false;
    return now.getTime() - this.trusted.now <= elapsed - this.trusted.elapsed + TOLERATED_DRIFT_MS;
  }

  private note(now: Date, elapsed: number, asOf: Date): void {
    const isDoubted = asOf < now;
    this.trusted = isDoubted ? undefined : { now: now.getTime(), elapsed };
    if (isDoubted && !this.isDoubted)
      this.log.warn(
        { now, asOf },
        'the clock is far ahead of the last run: nothing expires until it has been consistent for a day',
      );
    this.isDoubted = isDoubted;
  }
}

/** One row: when the deployment is known to have run, and since when its clock is doubted. */
@Entity('trusted_time')
export class StoredTime {
  @PrimaryColumn('boolean')
  id: true;

  @Column('timestamptz')
  trustedUntil: Date;

  @Column('timestamptz', { nullable: true })
  doubtedFrom: Date | null;

  @Column('timestamptz', { nullable: true })
  doubtedUntil: Date | null;
}
