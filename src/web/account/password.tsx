import { Injectable } from '@nestjs/common';
import type { VNode } from 'preact';
import { BrowserSessions, PASSWORD_FAULTS, type Refusal } from '../../domain/auth/index.js';
import {
  type BrowserRequest,
  Field,
  type Form,
  Hidden,
  NewPasswordField,
  RevokeTokensChoice,
  withAlert,
} from '../layout/index.js';

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

  /** Returns the browser's new cookies, or the faults. */
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

interface PasswordSectionProps {
  readonly csrfToken: string;
  readonly failedChange?: RejectedPasswordChange | undefined;
}

export function PasswordSection({ csrfToken, failedChange }: PasswordSectionProps): VNode {
  const { faults = {}, alert } = failedChange ?? {};
  return (
    <section aria-labelledby="password">
      <h2 id="password">Password</h2>
      <p class="hint">Changing it signs you out everywhere except in this browser.</p>
      <details open={failedChange !== undefined}>
        <summary>Change password</summary>
        {alert && (
          <p class="alert" role="alert">
            {alert}
          </p>
        )}
        <form method="post" action="/account/password" aria-label="Change password">
          <Hidden fields={{ csrf_token: csrfToken }} />
          <Field
            id="current-password"
            name="current_password"
            label="Current password"
            type="password"
            autocomplete="current-password"
            fault={faults.current}
            isFocused={faults.current !== undefined}
          />
          <NewPasswordField
            id="new-password"
            name="new_password"
            label="New password"
            fault={faults.new}
            isFocused={faults.new !== undefined}
          />
          <RevokeTokensChoice isChosen={failedChange?.revokesAccessTokens ?? false} />
          <button type="submit">Change password</button>
        </form>
      </details>
    </section>
  );
}
