import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { Configuration } from '../config/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, statement } from '../platform/database/index.js';
import { Log } from '../platform/log/index.js';
import { networkKey, TooManyRequests } from '../platform/http/index.js';
import { KNOWN_FOR_MS } from './known-networks.js';

export const WRONG_PASSWORDS_PER_HOUR = 20;
/** Mails of one kind to an address that callers without a session can have sent. */
export const MAILS_PER_HOUR = 5;
export const HOUR_MS = 60 * 60_000;

const IS_KNOWN = `EXISTS (
  SELECT FROM users u JOIN known_networks k ON k.user_id = u.id
  WHERE u.email = $4 AND k.network = $5 AND k.last_seen_at > $6
)`;

const countStatements = {
  /**
   * Counts an attempt, or returns no row if there are too many within the last hour. Keeps one attempt above the limit, as one
   * may be undone.
   */
  add: statement(
    'wrong_passwords.add',
    `INSERT INTO wrong_passwords AS w (key, tried_at, last_at) VALUES ($1, ARRAY[$2::timestamptz], $2)
     ON CONFLICT (key) DO UPDATE
     SET tried_at = array_prepend($2, w.tried_at[:$7]), last_at = greatest(w.last_at, excluded.last_at)
     WHERE (SELECT count(*) < $7 FROM unnest(w.tried_at) AS at WHERE at > $3) OR ${IS_KNOWN}
     RETURNING true AS "isCounted"`,
  ),

  /** Removes one of the attempts that were counted at this moment. */
  takeBack: statement(
    'wrong_passwords.take_back',
    `UPDATE wrong_passwords SET tried_at =
       tried_at[:array_position(tried_at, $2) - 1] || tried_at[array_position(tried_at, $2) + 1:]
     WHERE key = $1 AND $2 = ANY (tried_at)`,
  ),

  oldest: statement(
    'wrong_passwords.oldest',
    `SELECT min(at) AS at FROM wrong_passwords, unnest(tried_at) AS at WHERE key = $1 AND at > $2`,
  ),
};

interface CountOptions {
  /** Together with `network`: never refuses a client whose network has signed in to the account before. */
  readonly email?: string;
  readonly network?: string;
  readonly most?: number;
}

/**
 * Counts wrong passwords by account, over the last hour and all instances. An attempt is counted before its password is checked,
 * or a thousand concurrent attempts would all be let through; an attempt with the right password is removed again.
 */
@Injectable()
export class WrongPasswords {
  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /**
   * Counts a sign-in as one with a wrong password. Returns a function that undoes the count. Accounts that do not exist are
   * counted like others. A client whose network has signed in to the account before is never refused.
   * @throws TooManyRequests after `WRONG_PASSWORDS_PER_HOUR`
   */
  countSignIn(email: string, ip: string): Promise<() => Promise<void>> {
    return this.count(signInOf(email), { email: email.toLowerCase(), network: networkKey(ip) });
  }

  /** Like `countSignIn`, for a password change: counts per user with a known session, regardless of strangers' attempts. */
  countChange(userId: string): Promise<() => Promise<void>> {
    return this.count(`change-password:${userId}`);
  }

  /** Counts a mail that somebody without a session has asked for. @throws TooManyRequests after `MAILS_PER_HOUR` */
  async countMail(key: string): Promise<void> {
    await this.count(`mail:${key}`, { most: MAILS_PER_HOUR });
  }

  /** Counts a wrong password found elsewhere together with those of sign-ins. Refuses nobody. */
  async noteWrong(email: string): Promise<void> {
    try {
      await this.count(signInOf(email));
    } catch (error) {
      if (!(error instanceof TooManyRequests)) throw error;
    }
  }

  private async count(
    key: string,
    { email, network, most = WRONG_PASSWORDS_PER_HOUR }: CountOptions = {},
  ): Promise<() => Promise<void>> {
    if (this.configuration.rateLimitPerMinute === 0) return () => Promise.resolve();
    const id = createHash('sha256').update(key).digest();
    const now = this.clock.now();
    const anHourAgo = new Date(now.getTime() - HOUR_MS);
    const since = new Date(now.getTime() - KNOWN_FOR_MS);
    const values = [id, now, anHourAgo, email ?? null, network ?? null, since, most];
    const counted = await this.database.run(countStatements.add, values);
    if (counted.length === 0) throw new TooManyRequests(await this.secondsUntilFree(id, anHourAgo));
    // A failure here must not change an answer that is already decided: one counted attempt too many does no harm.
    return async () => {
      await this.log.bestEffort('undo the count of a wrong password', () =>
        this.database.run(countStatements.takeBack, [id, now]),
      );
    };
  }

  private async secondsUntilFree(id: Buffer, anHourAgo: Date): Promise<number> {
    const [oldest] = await this.database.run<{ at: Date | null }>(countStatements.oldest, [id, anHourAgo]);
    const left = (oldest?.at ?? anHourAgo).getTime() - anHourAgo.getTime();
    return Math.max(1, Math.ceil(left / 1000));
  }
}

/** Ignores case: the identity handler stores addresses in lower case. */
const signInOf = (email: string): string => `sign-in:${email.toLowerCase()}`;
