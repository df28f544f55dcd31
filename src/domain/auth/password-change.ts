import { Injectable } from '@nestjs/common';
import { type AuditDetails, AuditLog } from './audit/index.js';
import { Clock } from '../../platform/clock/index.js';
import { Database } from '../../platform/database/index.js';
import { Unauthorized } from '../../platform/http/index.js';
import { AccessEndings, type Ended } from './access-endings.js';
import { AuthAccount, credentialOf } from './auth-account.entity.js';
import { AuthSession } from './auth-session.entity.js';
import { CurrentPassword, type CurrentPasswordFault } from './current-password.js';
import { lockOwnUser } from './lock-user.js';
import { PasswordHasher } from './password-hasher.js';
import { faultOfPassword, type PasswordFault } from './password-policy.js';

/** A user's request to change the password. */
export interface Change {
  readonly user: { readonly id: string; readonly email: string };
  /** The session that makes the request; it continues. */
  readonly sessionId: string;
  readonly currentPassword: string;
  readonly newPassword: string;
  readonly ip: string;
  readonly userAgent: string;
  /** A new secret for the session that replaces the current one, or null. */
  readonly newSessionToken: string | null;
  /** Whether the user's personal access tokens end as well. */
  readonly revokesAccessTokens: boolean;
}

export type ChangeFault = PasswordFault | CurrentPasswordFault;

/** A hash is renewed at most once, so an attempt that loses to a renewal succeeds with the new hash. */
const ATTEMPTS = 2;

/** Password changes by somebody who knows the current password. */
@Injectable()
export class PasswordChange {
  constructor(
    private readonly database: Database,
    private readonly hasher: PasswordHasher,
    private readonly currentPassword: CurrentPassword,
    private readonly audit: AuditLog,
    private readonly clock: Clock,
    private readonly endings: AccessEndings,
  ) {}

  /**
   * Changes the password and ends what `ENDINGS` says, atomically: this session continues with another id. Returns what is wrong,
   * if anything.
   * @throws Unauthorized when the session has ended, TooManyRequests after too many wrong passwords, ServiceUnavailable
   */
  async run(change: Change): Promise<ChangeFault | undefined> {
    const { user, newPassword } = change;
    const fault = await faultOfPassword(newPassword);
    if (fault) return fault;
    return this.currentPassword.counted(user.id, () => this.attempt(change));
  }

  private async attempt(change: Change): Promise<ChangeFault | undefined> {
    const { user, currentPassword, newPassword, ip } = change;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const checked = await this.currentPassword.check({ user, password: currentPassword, ip });
      if (typeof checked === 'string') return checked;
      const newHash = await this.hasher.hash(newPassword, ip);
      if (await this.replace(change, checked.hash, newHash)) return undefined;
    }
    return 'INVALID_PASSWORD'; // a concurrent request has changed it
  }

  /** Returns false, and changes nothing, when the old hash has been replaced. */
  private async replace(change: Change, hash: string, newHash: string): Promise<boolean> {
    const ended = await this.database.transaction(async (tx): Promise<Ended | undefined> => {
      const { user, sessionId } = change;
      // No session of this user begins during the lock: one that waits is then checked against the new password.
      await lockOwnUser(tx, user.id);
      const sessions = tx.manager.getRepository(AuthSession);
      if (!(await sessions.existsBy({ userId: user.id, id: sessionId }))) throw new Unauthorized();
      const old = { ...credentialOf(user.id), password: hash };
      const changed = { password: newHash, updatedAt: this.clock.now() };
      if (!(await tx.manager.getRepository(AuthAccount).update(old, changed)).affected) return undefined;
      const { ip, userAgent, newSessionToken, revokesAccessTokens } = change;
      const circumstances = { ownSession: sessionId, newSessionToken, revokesAccessTokens };
      const ended = await this.endings.end(tx, user.id, 'password-changed', circumstances);
      const revokedTokens = ended.accessTokens.length;
      const details: AuditDetails = revokedTokens > 0 ? { revokedTokens } : {};
      await this.audit.record(
        { action: 'password.changed', userId: user.id, actor: 'user', ip, userAgent, details },
        tx,
      );
      return ended;
    });
    if (ended) this.endings.announce(ended);
    return ended !== undefined;
  }
}
