import { Injectable } from '@nestjs/common';
import { Database, statement, type Tx } from '../platform/database/index.js';
import { CurrentPassword, type CurrentPasswordFault } from './current-password.js';
import { pendingSignInStatements } from './factors/index.js';
import { lockUser } from './lock-user.js';

const addressOf = statement(
  'account_proof.address_of',
  'SELECT email FROM users WHERE id = $1 AND suspended_at IS NULL',
);

/** How somebody who has opened a link in a mail shows that the account is theirs. */
export interface AccountClaim {
  readonly password: string;
  /** The user who is signed in with the browser, if any. */
  readonly signedInUserId?: string | undefined;
  readonly ip: string;
  readonly userAgent: string;
}

export type ProofFault = CurrentPasswordFault | 'INVALID_TOKEN';

/**
 * A link in a mail shows that somebody has the mailbox, not that the account is theirs: anybody can make an account with another
 * person's address, and that person would confirm it for a stranger, who knows its password.
 */
@Injectable()
export class AccountProof {
  constructor(
    private readonly database: Database,
    private readonly currentPassword: CurrentPassword,
  ) {}

  /**
   * Runs `work` under the user's lock if the password is that of the account. The password may have been changed since it was
   * checked; it is compared again under the lock. `work` returns whether the link worked.
   * @throws TooManyRequests after too many wrong passwords, HashingBusy
   */
  async during(
    userId: string,
    { password, ip }: AccountClaim,
    work: (tx: Tx) => Promise<boolean>,
  ): Promise<ProofFault | undefined> {
    const [user] = await this.database.run<{ email: string }>(addressOf, [userId]);
    if (!user) return 'INVALID_TOKEN';
    const claim = { user: { id: userId, email: user.email }, password, ip };
    const checked = await this.currentPassword.counted(userId, () => this.currentPassword.check(claim));
    if (typeof checked === 'string') return checked;
    return this.database.transaction(async (tx) => {
      if (!(await lockUser(tx, userId))) return 'INVALID_TOKEN';
      const values = [userId, [checked.hash]];
      if ((await tx.run(pendingSignInStatements.isPassword, values)).length === 0) return 'INVALID_PASSWORD';
      return (await work(tx)) ? undefined : 'INVALID_TOKEN';
    });
  }
}
