import { Injectable } from '@nestjs/common';
import { BrowserSessions, PASSWORD_FAULTS, type Refusal } from '../../domain/auth/index.js';
import { type Form, type BrowserRequest, withAlert } from '../layout/index.js';

export type PasswordField = 'current' | 'new';

/** A password change that failed; never contains the passwords that were entered. */
export interface RejectedPasswordChange {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly faults: Readonly<Partial<Record<PasswordField, string>>>;
  readonly alert?: string;
  readonly revokesAccessTokens: boolean;
}

const FAULTS: Readonly<Partial<Record<Refusal, RejectedPasswordChange['faults']>>> = {
  'wrong-credentials': { current: 'This is not your current password.' },
  'no-password': { current: 'This account has no password.' },
  'password-too-short': { new: PASSWORD_FAULTS.PASSWORD_TOO_SHORT },
  'password-too-long': { new: PASSWORD_FAULTS.PASSWORD_TOO_LONG },
  'password-too-common': { new: PASSWORD_FAULTS.PASSWORD_TOO_COMMON },
};

/** The password form of the account page. */
@Injectable()
export class PasswordForm {
  constructor(private readonly browserSessions: BrowserSessions) {}

  /** Returns the browser's new cookies, or what is wrong. */
  async change(
    form: Form,
    { cookie, client }: BrowserRequest,
  ): Promise<{ cookies: readonly string[] } | RejectedPasswordChange> {
    const revokesAccessTokens = form.get('revoke_tokens') !== undefined;
    const failed = { status: 422, headers: {}, revokesAccessTokens } as const;
    const change = {
      currentPassword: form.get('current_password') ?? '',
      newPassword: form.get('new_password') ?? '',
      revokeAccessTokens: revokesAccessTokens,
    };
    try {
      const changed = await this.browserSessions.changePassword(cookie, change, client);
      if (!('refusal' in changed)) return changed;
      return { ...failed, faults: FAULTS[changed.refusal] ?? { new: 'This password cannot be used.' } };
    } catch (error) {
      return { ...failed, ...withAlert(error), faults: {} };
    }
  }
}
