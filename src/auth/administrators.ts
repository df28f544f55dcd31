import { Injectable } from '@nestjs/common';
import { type Acting, type AuditEntry, AuditLog } from '../audit/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, type Parameter, type Statement, statement } from '../platform/database/index.js';
import type { BrowserSession } from './browser-sessions.js';

const statements = {
  promote: statement(
    'administrators.promote',
    'UPDATE users SET promoted_at = $2 WHERE id = $1 AND promoted_at IS NULL RETURNING id',
  ),

  demote: statement(
    'administrators.demote',
    'UPDATE users SET promoted_at = NULL WHERE id = $1 AND promoted_at IS NOT NULL RETURNING id',
  ),

  isPromoted: statement(
    'administrators.is_promoted',
    'SELECT 1 FROM users WHERE id = $1 AND promoted_at IS NOT NULL AND suspended_at IS NULL',
  ),

  isOne: statement(
    'administrators.is_one',
    `SELECT 1 FROM users u JOIN auth_sessions s ON s.user_id = u.id
     WHERE u.id = $1 AND s.id = $2 AND s.factor_at IS NOT NULL AND u.promoted_at IS NOT NULL AND u.suspended_at IS NULL`,
  ),

  hasSecondFactor: statement(
    'administrators.has_second_factor',
    `SELECT 1 FROM users WHERE id = $1
       AND (EXISTS (SELECT 1 FROM auth_two_factors WHERE user_id = $1 AND verified)
         OR EXISTS (SELECT 1 FROM auth_passkeys WHERE user_id = $1))`,
  ),
};

/**
 * Users whom the operator has promoted (`users.promoted_at`). The admin page asks on each request, so a demotion or a
 * suspension takes effect with the next request on every instance.
 */
@Injectable()
export class Administrators {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly audit: AuditLog,
  ) {}

  /** Returns whether the user was not an administrator before. */
  promote(userId: string, by: Acting): Promise<boolean> {
    const values = [userId, this.clock.now()];
    return this.change(statements.promote, values, { action: 'account.promoted', userId, ...by });
  }

  /** Returns whether the user was an administrator. */
  demote(userId: string, by: Acting): Promise<boolean> {
    return this.change(statements.demote, [userId], { action: 'account.demoted', userId, ...by });
  }

  /**
   * Whether a session may open the admin page: its user is promoted, not suspended, and has a second factor that was given in it.
   * A passkey does not make the password insufficient, and a session may be older than the factor: a password alone must not do.
   */
  async isAdmitted({ userId, id }: Pick<BrowserSession, 'userId' | 'id'>): Promise<boolean> {
    const isOne = (await this.database.run(statements.isOne, [userId, id])).length > 0;
    return isOne && (await this.hasSecondFactor(userId));
  }

  /** Whether the user is promoted and not suspended, with or without a second factor. */
  async isPromoted(userId: string): Promise<boolean> {
    return (await this.database.run(statements.isPromoted, [userId])).length > 0;
  }

  /** Whether the user has a second factor: a confirmed TOTP secret or a passkey. */
  async hasSecondFactor(userId: string): Promise<boolean> {
    return (await this.database.run(statements.hasSecondFactor, [userId])).length > 0;
  }

  private change(query: Statement, values: readonly Parameter[], entry: AuditEntry): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const isNew = (await tx.run(query, values)).length > 0;
      if (isNew) await this.audit.record(entry, tx);
      return isNew;
    });
  }
}
