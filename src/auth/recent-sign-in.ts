import { Injectable } from '@nestjs/common';
import type { Principal } from '../access/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, statement } from '../platform/database/index.js';
import { Forbidden } from '../platform/http/index.js';
import { CurrentPassword, type CurrentPasswordFault } from './current-password.js';

/** How long a password or another factor counts as just given. */
const RECENT_MS = 10 * 60_000;

const statements = {
  isRecent: statement(
    'recent_sign_in.is_recent',
    'SELECT 1 FROM auth_sessions WHERE id = $1 AND confirmed_at > $2',
  ),

  confirm: statement(
    'recent_sign_in.confirm',
    'UPDATE auth_sessions SET confirmed_at = $3 WHERE user_id = $1 AND id = $2 RETURNING id',
  ),

  confirmByFactor: statement(
    'recent_sign_in.confirm_by_factor',
    'UPDATE auth_sessions SET confirmed_at = $3, factor_at = $3 WHERE user_id = $1 AND id = $2 RETURNING id',
  ),
};

/** A session of a user, as far as this class needs it. */
export interface ConfirmableSession {
  readonly id: string;
  readonly userId: string;
  readonly email: string;
}

/**
 * What cannot be undone, or outlives the session, needs a password or another factor that was given in the last ten minutes: a
 * stolen session alone is not enough.
 */
@Injectable()
export class RecentSignIn {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly currentPassword: CurrentPassword,
  ) {}

  /** Whether a password or another factor was given in this session in the last ten minutes. */
  async isRecent(sessionId: string): Promise<boolean> {
    return (await this.database.run(statements.isRecent, [sessionId, this.since()])).length > 0;
  }

  /** For the API: a JWT states when its user signed in. @throws Forbidden unless that was in the last ten minutes */
  require({ authenticatedAt }: Principal): void {
    if (!authenticatedAt || authenticatedAt <= this.since()) throw new Forbidden('recent sign-in required');
  }

  /**
   * Checks the user's password and, if it is right, notes that it was given now. Returns what is wrong, if anything.
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
    await this.database.run(statements.confirm, [userId, session.id, this.clock.now()]);
    return undefined;
  }

  /** Notes that a code or a passkey was given in this session now. */
  async noteFactor({ id, userId }: Pick<ConfirmableSession, 'id' | 'userId'>): Promise<void> {
    await this.database.run(statements.confirmByFactor, [userId, id, this.clock.now()]);
  }

  private since(): Date {
    return new Date(this.clock.now().getTime() - RECENT_MS);
  }
}
