import { Injectable } from '@nestjs/common';
import { BrowserFactors, RecentSignIn } from '../../domain/auth/index.js';
import type { BrowserRequest } from './browser-requests.js';
import type { Form } from './form.js';
import { withAlert } from './sign-in-forms.js';

/** Why a form was not accepted: the password that it needs is missing or wrong. */
export interface RejectedConfirmation {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** What is wrong with the password. */
  readonly fault?: string;
  /** A fault that does not concern the password. */
  readonly alert?: string;
}

const MISSING = 'Enter your password.';
const WRONG_CODE = 'This is neither your password nor a code that works now. Wait for the next code.';
const WRONG = 'This is not your password.';
const NO_PASSWORD = 'This account has no password. Sign in again, and try again within ten minutes.';

/** No password is this short. */
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

  /** Returns what is wrong, or undefined when the form may be processed. */
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
