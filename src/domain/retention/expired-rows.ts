import { Injectable } from '@nestjs/common';
import { HOUR_MS, KNOWN_FOR_MS } from '../auth/index.js';
import { GIVE_UP_AFTER_MS } from '../../platform/mail/index.js';
import { Database, type Parameter, removeInBatches, type Statement } from '../../platform/database/index.js';
import { NightlyJobs } from '../../platform/jobs/index.js';
import { expiredRowStatements } from './retention.queries.js';

const BATCH = 1_000;

/** A window of hits ends after a minute; this allows for other instances whose clocks are behind. */
const HITS_KEPT_MS = 10 * 60_000;

/** How long the audit log is kept. */
const AUDIT_KEPT_MS = 400 * 24 * HOUR_MS;

type Removal = (now: Date, signal: AbortSignal) => Promise<{ removed: number }>;

/** Removes expired rows every night, in bounded batches. */
@Injectable()
export class ExpiredRows {
  constructor(
    private readonly database: Database,
    jobs: NightlyJobs,
  ) {
    jobs.add('one-time-tokens', this.removing(expiredRowStatements.oneTimeTokens, asOf));
    jobs.add('sessions', this.removing(expiredRowStatements.sessions, asOf));
    jobs.add('ended-sessions', this.removing(expiredRowStatements.endedSessions, before(HOUR_MS)));
    jobs.add(
      'presence',
      this.removing(expiredRowStatements.instances, () => []),
    );
    jobs.add('rate-limits', this.removing(expiredRowStatements.hits, before(HITS_KEPT_MS)));
    jobs.add('wrong-passwords', this.removing(expiredRowStatements.wrongPasswords, before(HOUR_MS)));
    jobs.add('audit-events', this.removing(expiredRowStatements.auditEvents, before(AUDIT_KEPT_MS)));
    jobs.add('invitations', this.removing(expiredRowStatements.invitations, asOf));
    jobs.add('mail-links', this.removing(expiredRowStatements.mailLinks, before(2 * GIVE_UP_AFTER_MS)));
    jobs.add('known-networks', this.removing(expiredRowStatements.knownNetworks, before(KNOWN_FOR_MS)));
  }

  private removing(query: Statement, valuesAt: (now: Date) => Parameter[]): Removal {
    return async (now, signal) => {
      const batch = (): Promise<unknown[]> => this.database.run(query, [BATCH, ...valuesAt(now)]);
      return { removed: await removeInBatches(BATCH, batch, signal) };
    };
  }
}

const asOf = (now: Date): Date[] => [now];

const before =
  (ms: number) =>
  (now: Date): Date[] => [new Date(now.getTime() - ms)];
