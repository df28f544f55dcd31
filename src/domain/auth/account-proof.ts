import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { Database, type Tx } from '../../platform/database/index.js';
import { AuthAccount, hasPassword } from './auth-account.entity.js';
import { CurrentPassword, type CurrentPasswordFault } from './current-password.js';
import { lockUser } from './lock-user.js';
import { addressOf, UserEntity } from './user.entity.js';

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
    @InjectRepository(UserEntity) private readonly users: Repository<UserEntity>,
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
    const email = await addressOf(this.users, userId);
    if (email === undefined) return 'INVALID_TOKEN';
    const claim = { user: { id: userId, email }, password, ip };
    const checked = await this.currentPassword.counted(userId, () => this.currentPassword.check(claim));
    if (typeof checked === 'string') return checked;
    return this.database.transaction(async (tx) => {
      if (!(await lockUser(tx, userId))) return 'INVALID_TOKEN';
      const accounts = tx.manager.getRepository(AuthAccount);
      if (!(await hasPassword(accounts, userId, [checked.hash]))) return 'INVALID_PASSWORD';
      return (await work(tx)) ? undefined : 'INVALID_TOKEN';
    });
  }
}
