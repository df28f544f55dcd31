import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock } from '../clock/index.js';
import { Database, statement } from '../database/index.js';
import { Log } from '../log/index.js';
import { Background } from './background.js';

/** A clock that has gone this much further than this process has lived has jumped, or the machine was asleep. */
const TOLERATED_DRIFT_MS = 10 * 60_000;

/** $1: the clock. Whether it is near what the row `t` has, or has stood by its word for a day, however far ahead it is. */
const IS_TRUSTED = `(
  $1 <= t.trusted_until + interval '48 hours'
  OR coalesce($1 BETWEEN t.doubted_until AND t.doubted_until + interval '48 hours'
              AND $1 >= t.doubted_from + interval '24 hours', false))`;

const statements = {
  /** $2: whether the clock is known to be right as it was a moment ago. */
  look: statement(
    'trusted_time.look',
    `INSERT INTO trusted_time AS t (trusted_until) VALUES ($1)
     ON CONFLICT (id) DO UPDATE SET
       trusted_until = CASE WHEN $2 OR ${IS_TRUSTED} THEN greatest(t.trusted_until, $1) ELSE t.trusted_until END,
       doubted_from = CASE WHEN $2 OR ${IS_TRUSTED} THEN NULL
                           WHEN $1 BETWEEN t.doubted_until AND t.doubted_until + interval '48 hours' THEN t.doubted_from
                           ELSE $1 END,
       doubted_until = CASE WHEN $2 OR ${IS_TRUSTED} THEN NULL ELSE $1 END
     RETURNING trusted_until AS "asOf"`,
  ),

  peek: statement(
    'trusted_time.peek',
    `SELECT CASE WHEN ${IS_TRUSTED} THEN greatest(t.trusted_until, $1) ELSE t.trusted_until END AS "asOf" FROM trusted_time t`,
  ),
};

/** When the clock was last trusted, by itself and by how long the process had lived then. */
interface Trusted {
  readonly now: number;
  readonly elapsed: number;
}

/**
 * The time by which jobs write down what has ended, and remove what has run out. A clock that is wrong at a start or jumps
 * must not end everything for good: one that is more than 48 hours ahead of the last time the deployment is known to have
 * lived is doubted, and until then that time counts. It is believed when it has gone on for a day, as after a month
 * without power. A time that is too early is harmless: what is late is done later.
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

  /** Before any job: the clock must be seen to go on from here. */
  async onApplicationBootstrap(): Promise<void> {
    if (this.background.isOn) await this.log.bestEffort('look at the clock', () => this.now());
  }

  /** Never ahead of the clock. The admin command looks without leaving a trace. */
  async now(): Promise<Date> {
    const now = this.clock.now();
    const elapsed = this.clock.elapsed();
    const [row] = this.background.isOn
      ? await this.database.run<{ asOf: Date }>(statements.look, [now, this.goesOn(now, elapsed)])
      : await this.database.run<{ asOf: Date }>(statements.peek, [now]);
    const asOf = row?.asOf ?? now;
    this.note(now, elapsed, asOf);
    return asOf < now ? asOf : now;
  }

  /** Whether the clock was trusted in this process before, and has gone no further than the process has lived since. */
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
        'the clock is far ahead of the last run: until it has gone on for a day, nothing runs out',
      );
    this.isDoubted = isDoubted;
  }
}
