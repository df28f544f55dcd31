import { Injectable } from '@nestjs/common';
import { APIError } from 'better-auth/api';
import { Forbidden } from '../../../platform/http/index.js';
import { RecentSignIn } from '../recent-sign-in.js';
import { WrongPasswords } from '../wrong-passwords.js';
import { type EnteredCode, type FactorVault, SecondFactors } from './second-factors.js';
import { PendingSignIns } from './pending-sign-ins.js';

/** The refusals that the two-factor actions have in common. */
export const FACTOR_FAULTS = {
  INVALID_CODE: ['UNAUTHORIZED', 'Invalid code'],
  INVALID_TWO_FACTOR_COOKIE: ['UNAUTHORIZED', 'Invalid two factor cookie'],
  INVALID_PASSWORD: ['BAD_REQUEST', 'Invalid password'],
  CREDENTIAL_ACCOUNT_NOT_FOUND: ['BAD_REQUEST', 'Credential account not found'],
  TOTP_ALREADY_ENABLED: ['BAD_REQUEST', 'A second factor is on already'],
  TWO_FACTOR_NOT_ENABLED: ['BAD_REQUEST', 'There is no second factor'],
  VALIDATION_ERROR: ['BAD_REQUEST', 'code and password must be text'],
} as const;

export const factorFault = (code: keyof typeof FACTOR_FAULTS): APIError => {
  const [status, message] = FACTOR_FAULTS[code];
  return new APIError(status, { code, message });
};

interface Ids {
  readonly user: { readonly id: string };
  readonly session: { readonly id: string };
}

export interface SignedInUser extends Ids {
  readonly user: { readonly id: string; readonly email: string };
}

/** The services that the identity handler uses for second factors. */
@Injectable()
export class FactorActions {
  constructor(
    readonly factors: SecondFactors,
    readonly pending: PendingSignIns,
    private readonly recentSignIn: RecentSignIn,
    private readonly wrongPasswords: WrongPasswords,
  ) {}

  /**
   * Authorizes a change of a factor, for which a session alone is not enough: by the password, or without one by a recent
   * sign-in.
   * @throws APIError for a wrong password, Forbidden when none is given and the sign-in is not recent, TooManyRequests
   */
  async prove({ user, session }: SignedInUser, password: string | undefined, ip: string): Promise<void> {
    if (password === undefined) {
      if (!(await this.recentSignIn.isRecent(session.id))) throw new Forbidden('recent sign-in required');
      return;
    }
    const owner = { id: session.id, userId: user.id, email: user.email };
    const fault = await this.recentSignIn.confirm(owner, password, ip);
    if (fault) throw factorFault(fault);
  }

  /** Notes that the factor was given in this session now. */
  confirm({ user, session }: Ids): Promise<void> {
    return this.recentSignIn.noteFactor({ id: session.id, userId: user.id });
  }

  /** Uses up a code. @throws APIError for a wrong code, TooManyRequests after five wrong ones in a quarter of an hour */
  async use(
    userId: string,
    at: 'sign-in' | 'session',
    entered: EnteredCode,
    vault: FactorVault,
  ): Promise<void> {
    await this.attempt(userId, at, async () => (await this.factors.use(userId, entered, vault)) || null);
  }

  /** Counts an attempt as wrong before it is made; otherwise concurrent attempts would exceed the limit. @throws as `use` */
  async attempt<T>(userId: string, at: 'sign-in' | 'session', work: () => Promise<T | null>): Promise<T> {
    const takeBack = await this.wrongPasswords.countCode(userId, at);
    const result = await work();
    if (result === null) throw factorFault('INVALID_CODE');
    await takeBack();
    return result;
  }
}
