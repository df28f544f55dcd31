import { Injectable } from '@nestjs/common';
import { HOUR_MS, KNOWN_FOR_MS } from '../auth/index.js';
import { GIVE_UP_AFTER_MS } from '../mail/index.js';
import {
  Database,
  type Parameter,
  removeInBatches,
  type Statement,
  statement,
} from '../platform/database/index.js';
import { NightlyJobs } from '../platform/jobs/index.js';

const BATCH = 1_000;

/** A window of hits ends after a minute; this allows for other instances whose clocks are behind. */
const HITS_KEPT_MS = 10 * 60_000;

/** How long the audit log is kept. */
const AUDIT_KEPT_MS = 400 * 24 * HOUR_MS;

const statements = {
  oneTimeTokens: statement(
    'expired.one_time_tokens',
    `DELETE FROM auth_verifications
     WHERE id IN (SELECT id FROM auth_verifications WHERE expires_at <= $1 LIMIT $2) AND expires_at <= $1
     RETURNING id`,
  ),

  /** Checks the time a second time: a session that is used meanwhile is extended and must stay. */
  sessions: statement(
    'expired.sessions',
    `DELETE FROM auth_sessions
     WHERE id IN (SELECT id FROM auth_sessions WHERE expires_at <= $1 LIMIT $2) AND expires_at <= $1
     RETURNING id`,
  ),

  /** Every JWT of these sessions has expired. */
  endedSessions: statement(
    'expired.ended_sessions',
    `DELETE FROM ended_sessions
     WHERE session_id IN (SELECT session_id FROM ended_sessions WHERE ended_at < $1 LIMIT $2) AND ended_at < $1
     RETURNING session_id`,
  ),

  /** A link is kept as long as its mail may be sent again. */
  mailLinks: statement(
    'expired.mail_links',
    `DELETE FROM mail_links
     WHERE token_hash IN (SELECT token_hash FROM mail_links WHERE expires_at < $1 LIMIT $2) AND expires_at < $1
     RETURNING user_id`,
  ),

  hits: statement(
    'expired.hits',
    `DELETE FROM rate_limits
     WHERE key IN (SELECT key FROM rate_limits WHERE window_start < $1 LIMIT $2) AND window_start < $1
     RETURNING key`,
  ),

  wrongPasswords: statement(
    'expired.wrong_passwords',
    `DELETE FROM wrong_passwords
     WHERE key IN (SELECT key FROM wrong_passwords WHERE last_at < $1 LIMIT $2) AND last_at < $1
     RETURNING key`,
  ),

  knownNetworks: statement(
    'expired.known_networks',
    `DELETE FROM known_networks
     WHERE (user_id, network) IN (SELECT user_id, network FROM known_networks WHERE last_seen_at < $1 LIMIT $2)
       AND last_seen_at < $1
     RETURNING user_id`,
  ),

  auditEvents: statement(
    'expired.audit_events',
    `DELETE FROM audit_events
     WHERE id IN (SELECT id FROM audit_events WHERE at < $1 LIMIT $2) AND at < $1
     RETURNING id`,
  ),

  invitations: statement(
    'expired.invitations',
    `DELETE FROM invitations
     WHERE email IN (SELECT email FROM invitations WHERE expires_at <= $1 LIMIT $2) AND expires_at <= $1
     RETURNING email`,
  ),

  /** Leases use the database clock. Removing an instance removes its presence rows too. */
  instances: statement(
    'expired.instances',
    `DELETE FROM instances WHERE id IN (
       SELECT id FROM instances WHERE alive_until < statement_timestamp() - interval '1 minute' LIMIT $1
     ) RETURNING id`,
  ),
};

type Removal = (now: Date, signal: AbortSignal) => Promise<{ removed: number }>;

/** Removes expired rows every night, in bounded batches. */
@Injectable()
export class ExpiredRows {
  constructor(
    private readonly database: Database,
    jobs: NightlyJobs,
  ) {
    jobs.add('one-time-tokens', this.removing(statements.oneTimeTokens, asOf));
    jobs.add('sessions', this.removing(statements.sessions, asOf));
    jobs.add('ended-sessions', this.removing(statements.endedSessions, before(HOUR_MS)));
    jobs.add(
      'presence',
      this.removing(statements.instances, () => []),
    );
    jobs.add('rate-limits', this.removing(statements.hits, before(HITS_KEPT_MS)));
    jobs.add('wrong-passwords', this.removing(statements.wrongPasswords, before(HOUR_MS)));
    jobs.add('audit-events', this.removing(statements.auditEvents, before(AUDIT_KEPT_MS)));
    jobs.add('invitations', this.removing(statements.invitations, asOf));
    jobs.add('mail-links', this.removing(statements.mailLinks, before(2 * GIVE_UP_AFTER_MS)));
    jobs.add('known-networks', this.removing(statements.knownNetworks, before(KNOWN_FOR_MS)));
  }

  private removing(query: Statement, valuesAt: (now: Date) => Parameter[]): Removal {
    return async (now, signal) => {
      const batch = (): Promise<unknown[]> => this.database.run(query, [...valuesAt(now), BATCH]);
      return { removed: await removeInBatches(BATCH, batch, signal) };
    };
  }
}

const asOf = (now: Date): Date[] => [now];

const before =
  (ms: number) =>
  (now: Date): Date[] => [new Date(now.getTime() - ms)];
