import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { Clock } from '../../platform/clock.js';
import { Configuration } from '../../platform/config/index.js';
import { Database, type Tx } from '../../platform/database/index.js';
import { addressKey, networkKey, TooManyRequests } from '../../platform/http/index.js';
import { RateLimiter } from '../../platform/limits/index.js';
import { Log } from '../../platform/log.js';
import { AuditLog } from './audit/index.js';
import { knownNetworkStatements, wrongPasswordStatements } from './auth.queries.js';

/** How long a network stays known after the last sign-in from it. */
export const KNOWN_FOR_MS = 90 * 24 * 60 * 60_000;

/** How many networks are kept for each user; the oldest are removed first. */
const MOST_KNOWN = 50;

/** The networks from which users have signed in. A client cannot fake its network: it is the source of the connection. */
@Injectable()
export class KnownNetworks {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Call this after a session has begun with a sign-in. A sign-in from a new network is recorded in the audit log, except the
   * first one to an account.
   */
  async note(userId: string, ip: string, userAgent = ''): Promise<void> {
    const since = new Date(this.clock.now().getTime() - KNOWN_FOR_MS);
    const values = [userId, networkKey(ip), since];
    const [found] = await this.database.run<{ isLater: boolean; isKnown: boolean }>(
      knownNetworkStatements.known,
      values,
    );
    if (found?.isLater && !found.isKnown)
      await this.audit.record({ action: 'sign-in.new-client', userId, actor: 'user', ip, userAgent });
    await this.database.run(knownNetworkStatements.note, [
      userId,
      networkKey(ip),
      this.clock.now(),
      MOST_KNOWN,
    ]);
  }
}

export const WRONG_PASSWORDS_PER_HOUR = 20;
/** Mails of one kind to an address that callers without a session can trigger. */
export const MAILS_PER_HOUR = 5;
export const HOUR_MS = 60 * 60_000;

/** At most five wrong codes of a second factor in a quarter of an hour. */
const WRONG_CODES = { most: 5, withinMs: 15 * 60_000 };
const WRONG_PASSWORDS = { most: WRONG_PASSWORDS_PER_HOUR, withinMs: HOUR_MS };
const MAILS = { most: MAILS_PER_HOUR, withinMs: HOUR_MS };

/**
 * Counts wrong passwords, wrong codes and requested mails by account, over all instances. An attempt is counted before it is
 * checked, or concurrent attempts would exceed the limit; an attempt with the right password is removed again.
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
  async countSignIn(email: string, ip: string): Promise<() => Promise<void>> {
    if (this.isOff) return () => Promise.resolve();
    const known = { email: email.toLowerCase(), network: networkKey(ip) };
    return this.count(signInOf(email), WRONG_PASSWORDS, known);
  }

  /** Like `countSignIn`, for a password change: counts per user with a known session, regardless of strangers' attempts. */
  async countChange(userId: string): Promise<() => Promise<void>> {
    if (this.isOff) return () => Promise.resolve();
    return this.count(`change-password:${userId}`, WRONG_PASSWORDS);
  }

  /**
   * Like `countSignIn`, for codes of the second factor; never switched off, because codes are short. Callers have given the
   * password, or have a session, so strangers cannot keep the owner out; the two are counted apart.
   * @throws TooManyRequests after five in a quarter of an hour
   */
  countCode(userId: string, at: 'sign-in' | 'session'): Promise<() => Promise<void>> {
    return this.count(`second-factor:${at}:${userId}`, WRONG_CODES);
  }

  /**
   * Counts a mail that was requested without a session.
   * @param run the caller's transaction, if there is one
   * @throws TooManyRequests after `MAILS_PER_HOUR`
   */
  async countMail(key: string, run?: Pick<Tx, 'run'>): Promise<void> {
    if (this.isOff) return;
    await this.count(`mail:${key}`, MAILS, undefined, run);
  }

  /** Counts a wrong password that was entered elsewhere among those of sign-ins. Never refuses. */
  async noteWrong(email: string): Promise<void> {
    if (this.isOff) return;
    try {
      await this.count(signInOf(email), WRONG_PASSWORDS);
    } catch (error) {
      if (!(error instanceof TooManyRequests)) throw error;
    }
  }

  private get isOff(): boolean {
    return this.configuration.rateLimitPerMinute === 0;
  }

  private async count(
    key: string,
    { most, withinMs }: typeof WRONG_CODES,
    known?: { email: string; network: string },
    run: Pick<Tx, 'run'> = this.database,
  ): Promise<() => Promise<void>> {
    const id = createHash('sha256').update(key).digest();
    const now = this.clock.now();
    const since = new Date(now.getTime() - withinMs);
    const add = async (isForced: boolean): Promise<boolean> =>
      (await run.run(wrongPasswordStatements.add, [id, now, since, isForced, most])).length > 0;
    const isKnown = async (): Promise<boolean> => {
      if (!known) return false;
      const values = [known.email, known.network, new Date(now.getTime() - KNOWN_FOR_MS)];
      return (await run.run(wrongPasswordStatements.isKnown, values)).length > 0;
    };
    if (!(await add(false)) && !((await isKnown()) && (await add(true))))
      throw new TooManyRequests(await this.secondsUntilFree(id, since, run));
    // A failure here must not change an answer that is already decided: one counted attempt too many does no harm.
    return async () => {
      await this.log.bestEffort('undo the count of a wrong password', () =>
        this.database.run(wrongPasswordStatements.takeBack, [id, now]),
      );
    };
  }

  private async secondsUntilFree(id: Buffer, since: Date, run: Pick<Tx, 'run'>): Promise<number> {
    const [oldest] = await run.run<{ at: Date | null }>(wrongPasswordStatements.oldest, [id, since]);
    const left = (oldest?.at ?? since).getTime() - since.getTime();
    return Math.max(1, Math.ceil(left / 1000));
  }
}

/** Ignores case: the identity handler stores addresses in lower case. */
const signInOf = (email: string): string => `sign-in:${email.toLowerCase()}`;

const TRIES_PER_MINUTE = { ofAddress: 10, ofNetwork: 30 };

/** Limits attempts at guessable secrets, by address and by network. The API and the pages share the counts. */
@Injectable()
export class GuessLimit {
  constructor(private readonly rateLimiter: RateLimiter) {}

  /**
   * @param action the identity handler's name for the action
   * @throws TooManyRequests after ten attempts a minute from an IPv4 address or an IPv6 /64, and after thirty from a /48
   */
  async count(action: string, ip: string): Promise<void> {
    await this.rateLimiter.hit(`${action}:${addressKey(ip)}`, TRIES_PER_MINUTE.ofAddress);
    await this.rateLimiter.hit(`${action}:${networkKey(ip)}`, TRIES_PER_MINUTE.ofNetwork);
  }
}
