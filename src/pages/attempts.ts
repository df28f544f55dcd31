import { Injectable } from '@nestjs/common';
import { BrowserSessions, PASSWORD_FAULTS, type Refusal, type SignedIn } from '../auth/index.js';
import { asName, BadRequest } from '../platform/http/index.js';
import type { Form } from './form.js';
import { withAlert } from './try-again.js';
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
  'password-too-short': { password: PASSWORD_FAULTS.PASSWORD_TOO_SHORT },
  'password-too-long': { password: PASSWORD_FAULTS.PASSWORD_TOO_LONG },
  'password-too-common': { password: PASSWORD_FAULTS.PASSWORD_TOO_COMMON },
  'no-password': {},
  unfit: { email: 'This email address cannot be used.' },
};

/** What people type to get in, on whichever page. */
@Injectable()
export class Attempts {
  constructor(private readonly browserSessions: BrowserSessions) {}

  /** @throws Forbidden where signing up is switched off, ServiceUnavailable while read-only */
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
      return { ...failed, ...withAlert(error), faults: {} };
    }
  }
}
