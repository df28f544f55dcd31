import { Injectable } from '@nestjs/common';
import {
  Database,
  type Parameter,
  removeInBatches,
  type Statement,
  statement,
} from '../platform/database/index.js';
import { NightlyJobs } from '../platform/jobs/index.js';

const BATCH = 1_000;

/** A minute's hits are over with it; another instance's clock may be behind. */
const HITS_KEPT_MS = 10 * 60_000;

const statements = {
  oneTimeTokens: statement(
    'expired.one_time_tokens',
    `DELETE FROM auth_verifications
     WHERE id IN (SELECT id FROM auth_verifications WHERE expires_at <= $1 LIMIT $2) AND expires_at <= $1
     RETURNING id`,
  ),

  /** Looks at the time once more: a session that is used meanwhile slides on and must stay. */
  sessions: statement(
    'expired.sessions',
    `DELETE FROM auth_sessions
     WHERE id IN (SELECT id FROM auth_sessions WHERE expires_at <= $1 LIMIT $2) AND expires_at <= $1
     RETURNING id`,
  ),

  hits: statement(
    'expired.hits',
    `DELETE FROM rate_limits
     WHERE key IN (SELECT key FROM rate_limits WHERE window_start < $1 LIMIT $2) AND window_start < $1
     RETURNING key`,
  ),

  /** Leases run by the database's clock. With an instance goes who was present there. */
  instances: statement(
    'expired.instances',
    `DELETE FROM instances WHERE id IN (
       SELECT id FROM instances WHERE alive_until < statement_timestamp() - interval '1 minute' LIMIT $1
     ) RETURNING id`,
  ),
};

type Removal = (now: Date, signal: AbortSignal) => Promise<{ removed: number }>;

/** The nightly removal of rows that have run out, in bounded batches. */
@Injectable()
export class ExpiredRows {
  constructor(
    private readonly database: Database,
    jobs: NightlyJobs,
  ) {
    jobs.add('one-time-tokens', this.removing(statements.oneTimeTokens, asOf));
    jobs.add('sessions', this.removing(statements.sessions, asOf));
    jobs.add(
      'presence',
      this.removing(statements.instances, () => []),
    );
    jobs.add(
      'rate-limits',
      this.removing(statements.hits, (now) => [new Date(now.getTime() - HITS_KEPT_MS)]),
    );
  }

  private removing(query: Statement, valuesAt: (now: Date) => Parameter[]): Removal {
    return async (now, signal) => {
      const batch = (): Promise<unknown[]> => this.database.run(query, [...valuesAt(now), BATCH]);
      return { removed: await removeInBatches(BATCH, batch, signal) };
    };
  }
}

const asOf = (now: Date): Date[] => [now];
