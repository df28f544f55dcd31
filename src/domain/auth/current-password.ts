import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { randomBytes } from 'node:crypto';
import { Repository } from 'typeorm';
import { Database, type Tx } from '../../platform/database/index.js';
import { lockUser } from './account-fields.js';
import { addressOf, AuthAccount, hasPassword, passwordHashOf, UserEntity } from './auth.entities.js';
import type { Client } from './identity-request.js';
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
   * Counts an attempt before it is made, apart from sign-ins, so that strangers who guess there do not lock the owner out. The
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

  /** The hash that the password was checked against, or the fault. @throws ServiceUnavailable when all hashing slots are taken */
  async check({ user, password, ip }: Claim): Promise<{ hash: string } | CurrentPasswordFault> {
    const hash = await passwordHashOf(this.accounts, user.id);
    if (hash === undefined) return 'CREDENTIAL_ACCOUNT_NOT_FOUND';
    const { isRight } = await this.hasher.verify(password, hash, ip);
    if (isRight) return { hash };
    await this.wrongPasswords.noteWrong(user.email); // the same password could be tried at sign-in
    return 'INVALID_PASSWORD';
  }
}

export const ONE_TIME_TOKEN_MINUTES = 3;
export const JWT_MINUTES = 15;
export const PASSWORD_LENGTH = { min: 10, max: 128 } as const;

/** Why a password cannot be chosen; uses the identity library's codes where it has them. */
export type PasswordFault = 'PASSWORD_TOO_SHORT' | 'PASSWORD_TOO_LONG' | 'PASSWORD_TOO_COMMON';

export const PASSWORD_FAULTS: Readonly<Record<PasswordFault, string>> = {
  PASSWORD_TOO_SHORT: `The password must have at least ${PASSWORD_LENGTH.min} characters.`,
  PASSWORD_TOO_LONG: `The password must have at most ${PASSWORD_LENGTH.max} characters.`,
  PASSWORD_TOO_COMMON: 'This password is too common. Choose another.',
};

/** Generates 120 random bits in characters that can be typed. */
export const generatePassword = (): string => randomBytes(15).toString('base64url');

let common: Promise<ReadonlySet<string>> | undefined;

/**
 * The fault in a new password, if any. Only for new passwords: passwords chosen under earlier rules stay valid.
 * Whether a password is common does not depend on case.
 */
export async function faultOfPassword(password: string): Promise<PasswordFault | undefined> {
  if (password.length < PASSWORD_LENGTH.min) return 'PASSWORD_TOO_SHORT';
  if (password.length > PASSWORD_LENGTH.max) return 'PASSWORD_TOO_LONG';
  common ??= commonPasswords();
  return (await common).has(password.normalize('NFKC').toLowerCase()) ? 'PASSWORD_TOO_COMMON' : undefined;
}

/** The 1,500 of the 49,000 most common passwords that are long enough to be chosen. Loaded at the first check. */
async function commonPasswords(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  const all = dictionary['passwords-common'];
  return new Set(all.filter(({ length }) => length >= PASSWORD_LENGTH.min));
}

/** What a person who opens a link in a mail gives to prove that the account is theirs. */
export interface AccountClaim extends Client {
  readonly password: string;
  /** The user who is signed in in this browser, if any. */
  readonly signedInUserId?: string | undefined;
}

export type ProofFault = CurrentPasswordFault | 'INVALID_TOKEN';

/**
 * A link in a mail proves access to the mailbox, not ownership of the account: anyone can create an account with another
 * person's address, and that person would confirm it for a stranger who knows its password.
 */
@Injectable()
export class AccountProof {
  constructor(
    @InjectRepository(UserEntity) private readonly users: Repository<UserEntity>,
    private readonly database: Database,
    private readonly currentPassword: CurrentPassword,
  ) {}

  /**
   * Runs `work` under the user's lock if the password is right; one that was changed since the check counts as wrong. `work`
   * returns whether the link worked.
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
