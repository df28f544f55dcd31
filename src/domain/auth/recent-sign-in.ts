import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { MoreThan, Repository } from 'typeorm';
import type { Principal } from '../../access/index.js';
import { Clock } from '../../platform/clock.js';
import { Forbidden } from '../../platform/http/index.js';
import { AuthSession } from './auth.entities.js';
import { CurrentPassword, type CurrentPasswordFault } from './current-password.js';

/** How long a password or another factor counts as just given. */
const RECENT_MS = 10 * 60_000;

/** A session of a user, as far as this class needs it. */
export interface ConfirmableSession {
  readonly id: string;
  readonly userId: string;
  readonly email: string;
}

/**
 * Actions that cannot be undone, or that outlive the session, need a password or another factor given in the last ten minutes: a
 * stolen session alone is not enough.
 */
@Injectable()
export class RecentSignIn {
  constructor(
    @InjectRepository(AuthSession) private readonly sessions: Repository<AuthSession>,
    private readonly clock: Clock,
    private readonly currentPassword: CurrentPassword,
  ) {}

  /** Whether a password or another factor was given in this session in the last ten minutes. */
  isRecent(sessionId: string): Promise<boolean> {
    return this.sessions.existsBy({ id: sessionId, confirmedAt: MoreThan(this.since()) });
  }

  /** For the API: a JWT states when its user signed in. @throws Forbidden unless that was in the last ten minutes */
  require({ authenticatedAt }: Principal): void {
    if (!authenticatedAt || authenticatedAt <= this.since()) throw new Forbidden('recent sign-in required');
  }

  /**
   * Checks the user's password and, if it is right, notes that it was given now. Returns the fault, if any.
   * @throws TooManyRequests after too many wrong passwords, ServiceUnavailable when all hashing slots are taken
   */
  async confirm(
    session: ConfirmableSession,
    password: string,
    ip: string,
  ): Promise<CurrentPasswordFault | undefined> {
    const { userId, email } = session;
    const checked = await this.currentPassword.counted(userId, () =>
      this.currentPassword.check({ user: { id: userId, email }, password, ip }),
    );
    if (typeof checked === 'string') return checked;
    await this.sessions.update({ userId, id: session.id }, { confirmedAt: this.clock.now() });
    return undefined;
  }

  /** Notes that a code or a passkey was given in this session now. */
  async noteFactor({ id, userId }: Pick<ConfirmableSession, 'id' | 'userId'>): Promise<void> {
    const now = this.clock.now();
    await this.sessions.update({ userId, id }, { confirmedAt: now, factorAt: now });
  }

  private since(): Date {
    return new Date(this.clock.now().getTime() - RECENT_MS);
  }
}
