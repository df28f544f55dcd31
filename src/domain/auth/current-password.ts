import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { AuthAccount, passwordHashOf } from './auth-account.entity.js';
import { PasswordHasher } from './password-hasher.js';
import { WrongPasswords } from './wrong-passwords.js';

export type CurrentPasswordFault = 'CREDENTIAL_ACCOUNT_NOT_FOUND' | 'INVALID_PASSWORD';

interface Claim {
  readonly user: { readonly id: string; readonly email: string };
  readonly password: string;
  readonly ip: string;
}

/** Checks the password of a user who is signed in. */
@Injectable()
export class CurrentPassword {
  constructor(
    @InjectRepository(AuthAccount) private readonly accounts: Repository<AuthAccount>,
    private readonly hasher: PasswordHasher,
    private readonly wrongPasswords: WrongPasswords,
  ) {}

  /**
   * Counts an attempt before it is made, separately from sign-ins: strangers who guess there must not keep the owner out. The
   * count is undone unless `attempt` finds the password wrong.
   * @throws TooManyRequests after too many wrong passwords
   */
  async counted<T>(
    userId: string,
    attempt: () => Promise<T | CurrentPasswordFault>,
  ): Promise<T | CurrentPasswordFault> {
    const takeBack = await this.wrongPasswords.countChange(userId);
    let result: T | CurrentPasswordFault | undefined;
    try {
      result = await attempt();
      return result;
    } finally {
      if (result !== 'INVALID_PASSWORD') await takeBack();
    }
  }

  /** The hash that the password was checked against, or what is wrong. @throws ServiceUnavailable when all hashing slots are taken */
  async check({ user, password, ip }: Claim): Promise<{ hash: string } | CurrentPasswordFault> {
    const hash = await passwordHashOf(this.accounts, user.id);
    if (hash === undefined) return 'CREDENTIAL_ACCOUNT_NOT_FOUND';
    const { isRight } = await this.hasher.verify(password, hash, ip);
    if (isRight) return { hash };
    await this.wrongPasswords.noteWrong(user.email); // the same password could be tried at sign-in
    return 'INVALID_PASSWORD';
  }
}
