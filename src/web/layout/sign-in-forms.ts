import { Injectable } from '@nestjs/common';
import {
  BrowserFactors,
  BrowserSessions,
  HashingBusy,
  PASSWORD_FAULTS,
  RecentSignIn,
  type Refusal,
  type SignedIn,
} from '../../domain/auth/index.js';
import { type ApiError, asName, BadRequest, TooManyRequests } from '../../platform/http/index.js';
import type { BrowserRequest, Form } from './browser-requests.js';
import { NAME_FAULT } from './fields.js';

/** Status and alert of a form that is shown again because it could not be processed. */
interface TryAgain {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly alert: string;
}

const SECONDS_OF_A_MINUTE = 60;

/** Converts an error of a form with a password to an alert. @throws any other error unchanged */
export function withAlert(error: unknown): TryAgain {
  if (!(error instanceof TooManyRequests || error instanceof HashingBusy)) throw error;
  const { status, headers } = error as ApiError;
  const minutes = Math.ceil(Number(headers['retry-after']) / SECONDS_OF_A_MINUTE);
  const alert =
    error instanceof HashingBusy
      ? 'Too many people are signing in right now. Try again in a few seconds.'
      : `Too many attempts. Wait ${minutes > 1 ? `${minutes} minutes` : 'a minute'}, then try again.`;
  return { status, headers, alert };
}

export type CredentialField = 'name' | 'email' | 'password';

/** The second step of a sign-in: the password was right, and the account has a second factor. */
export interface FactorStep {
  readonly kind: 'totp' | 'backup';
  readonly fault?: string;
}

/** A sign-in or sign-up that failed or is not complete, with the values to show again; never the password. */
export interface RejectedSignIn {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly intent: 'sign-in' | 'sign-up';
  readonly values: Readonly<{ name: string; email: string }>;
  /** The fault in each field. */
  readonly faults: Readonly<Partial<Record<CredentialField, string>>>;
  /** A fault that concerns none of the fields. */
  readonly alert?: string;
  /** Set when the page must ask for a code. */
  readonly factor?: FactorStep;
  readonly cookies?: readonly string[];
  /** Whether the person must first follow the link in a mail; there is nothing to correct. */
  readonly mustConfirmEmail?: true;
}

const OUT_OF_TIME = 'The sign-in took too long. Sign in again.';
const WRONG_CODES = {
  totp: 'This code is wrong, or it was used already. Wait for the next one.',
  backup: 'This is not one of your unused backup codes.',
} as const;

/** Messages for the person who filled in the form. */
const FAULTS: Readonly<Record<Refusal, RejectedSignIn['faults']>> = {
  'wrong-credentials': { password: 'The email address or the password is wrong.' },
  'invalid-email': { email: 'This is not a valid email address.' },
  'email-taken': { email: 'An account with this email address already exists. Sign in instead.' },
  'password-too-short': { password: PASSWORD_FAULTS.PASSWORD_TOO_SHORT },
  'password-too-long': { password: PASSWORD_FAULTS.PASSWORD_TOO_LONG },
  'password-too-common': { password: PASSWORD_FAULTS.PASSWORD_TOO_COMMON },
  'no-password': {},
  unverified: {},
  unfit: { email: 'This email address cannot be used.' },
};

/** The sign-in and sign-up forms of all pages. */
@Injectable()
export class SignInForms {
  constructor(
    private readonly browserSessions: BrowserSessions,
    private readonly browserFactors: BrowserFactors,
  ) {}

  /** @throws Forbidden if sign-up is disabled, ServiceUnavailable while read-only */
  async submit(form: Form, browserRequest: BrowserRequest): Promise<SignedIn | RejectedSignIn> {
    const { client } = browserRequest;
    const intent = form.get('intent');
    if (intent === 'totp' || intent === 'backup') return this.enterCode(intent, form, browserRequest);
    if (intent !== 'sign-in' && intent !== 'sign-up') throw new BadRequest('the form has an unknown intent');
    const values = { name: form.text('name'), email: form.text('email') };
    const password = form.get('password') ?? '';
    const failed = { status: 422, headers: {}, intent, values } as const;
    if (intent === 'sign-up' && asName(values.name) === undefined)
      return { ...failed, faults: { name: NAME_FAULT } };
    try {
      const entered =
        intent === 'sign-in'
          ? await this.browserSessions.signIn(values.email, password, client)
          : await this.browserSessions.signUp({ ...values, password }, client);
      if ('needsFactor' in entered)
        return { ...failed, status: 200, faults: {}, factor: { kind: 'totp' }, cookies: entered.cookies };
      if (!('refusal' in entered)) return entered;
      if (entered.refusal === 'unverified')
        return { ...failed, status: 403, faults: {}, mustConfirmEmail: true };
      return { ...failed, faults: FAULTS[entered.refusal] };
    } catch (error) {
      return { ...failed, ...withAlert(error), faults: {} };
    }
  }

  private async enterCode(
    kind: FactorStep['kind'],
    form: Form,
    browserRequest: BrowserRequest,
  ): Promise<SignedIn | RejectedSignIn> {
    const values = { name: '', email: '' };
    const failed = { status: 422, headers: {}, intent: 'sign-in', values, faults: {} } as const;
    try {
      const entered = await this.browserFactors.signIn(browserRequest, { kind, code: form.text('code') });
      if (entered === 'out-of-date') return { ...failed, alert: OUT_OF_TIME };
      if (entered === 'wrong-code') return { ...failed, factor: { kind, fault: WRONG_CODES[kind] } };
      return entered;
    } catch (error) {
      return { ...failed, ...withAlert(error), factor: { kind } };
    }
  }
}

/** Why a form was not accepted: the password that it needs is missing or wrong. */
export interface RejectedConfirmation {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The fault in the password. */
  readonly fault?: string;
  /** A fault that does not concern the password. */
  readonly alert?: string;
}

const MISSING = 'Enter your password.';
const WRONG_CODE = 'This is neither your password nor a code that works now. Wait for the next code.';
const WRONG = 'This is not your password.';
const NO_PASSWORD = 'This account has no password. Sign in again, and try again within ten minutes.';

/** Passwords are longer. */
const CODE = /^\d{6}$/;

/** The password, or a code of the second factor, that a form needs when the user did not sign in recently: see `ConfirmField`. */
@Injectable()
export class Confirmations {
  constructor(
    private readonly recentSignIn: RecentSignIn,
    private readonly browserFactors: BrowserFactors,
  ) {}

  /** Whether the forms of this browser that need a recent sign-in must ask for the password. */
  async areNeeded({ session }: BrowserRequest): Promise<boolean> {
    return session !== null && !(await this.recentSignIn.isRecent(session.id));
  }

  /** Returns the fault, or undefined when the form may be processed. */
  async check(form: Form, browserRequest: BrowserRequest): Promise<RejectedConfirmation | undefined> {
    const { session, client } = browserRequest;
    if (!session || (await this.recentSignIn.isRecent(session.id))) return undefined;
    const password = form.get('confirm_password') ?? '';
    const rejected = { status: 422, headers: {} } as const;
    if (!password) return { ...rejected, fault: MISSING };
    try {
      if (CODE.test(password)) {
        const entered = { kind: 'totp', code: password } as const;
        const isRight = await this.browserFactors.confirm(browserRequest, session.userId, entered);
        return isRight ? undefined : { ...rejected, fault: WRONG_CODE };
      }
      const fault = await this.recentSignIn.confirm(session, password, client.ip);
      if (!fault) return undefined;
      return { ...rejected, fault: fault === 'INVALID_PASSWORD' ? WRONG : NO_PASSWORD };
    } catch (error) {
      return withAlert(error);
    }
  }
}
