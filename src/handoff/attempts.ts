import { Injectable } from '@nestjs/common';
import { BrowserSessions, PASSWORD_LENGTH, type Refusal, type SignedIn } from '../auth/index.js';
import { asName, BadRequest, TooManyRequests } from '../platform/http/index.js';
import type { Form } from './form.js';
import type { Visit } from './visits.js';

export type CredentialField = 'name' | 'email' | 'password';

/** A sign-in or sign-up that came to nothing, for its form to be shown again; never the password. */
export interface FailedAttempt {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly intent: 'sign-in' | 'sign-up';
  readonly values: Readonly<{ name: string; email: string }>;
  /** What is wrong with which field. */
  readonly faults: Readonly<Partial<Record<CredentialField, string>>>;
  /** What is wrong with none of them. */
  readonly alert?: string;
}

/** In words for the person who filled in the form. */
const FAULTS: Readonly<Record<Refusal, FailedAttempt['faults']>> = {
  'wrong-credentials': { password: 'The email address or the password is wrong.' },
  'invalid-email': { email: 'This is not an email address.' },
  'email-taken': { email: 'There is an account with this email address already. Sign in instead.' },
  'password-too-short': { password: `Use at least ${PASSWORD_LENGTH.min} characters.` },
  'password-too-long': { password: `Use at most ${PASSWORD_LENGTH.max} characters.` },
  unfit: { email: 'This email address cannot be used.' },
};

/** What people type to get in, on whichever page. */
@Injectable()
export class Attempts {
  constructor(private readonly browserSessions: BrowserSessions) {}

  /** @throws Forbidden where signing up is switched off, ServiceUnavailable while it is held off */
  async make(form: Form, { client }: Visit): Promise<SignedIn | FailedAttempt> {
    const intent = form.get('intent');
    if (intent !== 'sign-in' && intent !== 'sign-up') throw new BadRequest('the form has an unknown intent');
    const values = { name: form.text('name'), email: form.text('email') };
    const password = form.get('password') ?? '';
    const failed = { status: 422, headers: {}, intent, values } as const;
    if (intent === 'sign-up' && asName(values.name) === undefined)
      return { ...failed, faults: { name: 'Enter a name of 1 to 255 characters.' } };
    try {
      const entered =
        intent === 'sign-in'
          ? await this.browserSessions.signIn(values.email, password, client)
          : await this.browserSessions.signUp({ ...values, password }, client);
      return 'refusal' in entered ? { ...failed, faults: FAULTS[entered.refusal] } : entered;
    } catch (error) {
      if (!(error instanceof TooManyRequests)) throw error;
      const alert = 'Too many tries. Wait a minute, then try again.';
      return { ...failed, status: 429, headers: error.headers, faults: {}, alert };
    }
  }
}
