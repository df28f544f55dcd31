import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock/index.js';
import { Database, statement, type Tx } from '../platform/database/index.js';
import { Unauthorized } from '../platform/http/index.js';
import { lockUser } from './lock-user.js';
import { PasswordHasher } from './password-hasher.js';
import { faultOfPassword, type PasswordFault } from './password-policy.js';
import { WrongPasswords } from './wrong-passwords.js';

const changeStatements = {
  hash: statement(
    'password_change.hash',
    `SELECT password AS hash FROM auth_accounts
     WHERE user_id = $1 AND provider_id = 'credential' AND password IS NOT NULL`,
  ),

  replace: statement(
    'password_change.replace',
    `UPDATE auth_accounts SET password = $3, updated_at = $4
     WHERE user_id = $1 AND provider_id = 'credential' AND password = $2 RETURNING id`,
  ),

  isThere: statement(
    'password_change.is_session_there',
    'SELECT FROM auth_sessions WHERE user_id = $1 AND id = $2',
  ),

  /** The value of a one-time token is the session that it opens. */
  endOthers: statement(
    'password_change.end_others',
    `WITH ended AS (DELETE FROM auth_sessions WHERE user_id = $1 AND id <> $2 RETURNING token)
     DELETE FROM auth_verifications
     WHERE identifier LIKE 'one-time-token:%' AND value IN (SELECT token FROM ended)`,
  ),
};

/** A user who wants another password. */
export interface Change {
  readonly user: { readonly id: string; readonly email: string };
  /** The session that asks for it, which goes on. */
  readonly sessionId: string;
  readonly currentPassword: string;
  readonly newPassword: string;
  readonly ip: string;
}

export type ChangeFault = PasswordFault | 'CREDENTIAL_ACCOUNT_NOT_FOUND' | 'INVALID_PASSWORD';

/** A hash is outdated at most once: who loses to its renewal reads the new one. */
const ATTEMPTS = 2;

/** Changes of a password by somebody who knows it. */
@Injectable()
export class PasswordChange {
  constructor(
    private readonly database: Database,
    private readonly hasher: PasswordHasher,
    private readonly wrongPasswords: WrongPasswords,
    private readonly clock: Clock,
  ) {}

  /**
   * Changes the password and ends all other sessions of the user, with their one-time tokens: all or nothing. Returns what
   * is wrong, if anything.
   * @param also what happens in the same transaction
   * @throws Unauthorized when the session has ended, TooManyRequests after too many wrong passwords, ServiceUnavailable
   */
  async run(change: Change, also?: (tx: Tx) => Promise<void>): Promise<ChangeFault | undefined> {
    const { user, newPassword } = change;
    const fault = await faultOfPassword(newPassword);
    if (fault) return fault;
    // Of its own: strangers who guess at the sign-in must not keep the owner from changing the password.
    const takeBack = await this.wrongPasswords.countChange(user.id);
    let result: ChangeFault | undefined;
    try {
      result = await this.attempt(change, also);
    } finally {
      if (result !== 'INVALID_PASSWORD') await takeBack();
    }
    return result;
  }

  private async attempt(
    change: Change,
    also: ((tx: Tx) => Promise<void>) | undefined,
  ): Promise<ChangeFault | undefined> {
    const { user, currentPassword, newPassword, ip } = change;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const hash = await this.hashOf(user.id);
      if (hash === undefined) return 'CREDENTIAL_ACCOUNT_NOT_FOUND';
      const { isRight } = await this.hasher.verify(currentPassword, hash, ip);
      if (!isRight) {
        await this.wrongPasswords.noteWrong(user.email); // the same password could be tried at the sign-in
        return 'INVALID_PASSWORD';
      }
      const newHash = await this.hasher.hash(newPassword, ip);
      if (await this.replace(change, { hash, newHash }, also)) return undefined;
    }
    return 'INVALID_PASSWORD'; // somebody else has changed it
  }

  private async hashOf(userId: string): Promise<string | undefined> {
    return (await this.database.run<{ hash: string }>(changeStatements.hash, [userId]))[0]?.hash;
  }

  /** False, and nothing is changed, when the old hash is there no longer. */
  private replace(
    { user: { id }, sessionId }: Change,
    { hash, newHash }: { hash: string; newHash: string },
    also?: (tx: Tx) => Promise<void>,
  ): Promise<boolean> {
    const now = this.clock.now();
    return this.database.transaction(async (tx) => {
      // No session of this user begins meanwhile: one that waits is checked against the new password.
      if (!(await lockUser(tx, id))) throw new Unauthorized();
      if ((await tx.run(changeStatements.isThere, [id, sessionId])).length === 0) throw new Unauthorized();
      if ((await tx.run(changeStatements.replace, [id, hash, newHash, now])).length === 0) return false;
      await tx.run(changeStatements.endOthers, [id, sessionId]);
      await also?.(tx);
      return true;
    });
  }
}
