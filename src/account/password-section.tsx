import type { VNode } from 'preact';
import { PASSWORD_LENGTH } from '../auth/index.js';
import { Field, Hidden } from '../pages/index.js';
import type { RejectedPasswordChange } from './password-form.js';

interface PasswordSectionProps {
  readonly csrfToken: string;
  readonly failedChange?: RejectedPasswordChange | undefined;
}

export function PasswordSection({ csrfToken, failedChange }: PasswordSectionProps): VNode {
  const { faults = {}, alert } = failedChange ?? {};
  const { min } = PASSWORD_LENGTH;
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
          <Field
            id="new-password"
            name="new_password"
            label="New password"
            type="password"
            autocomplete="new-password"
            hint={`At least ${min} characters, and not a common password.`}
            minLength={min}
            fault={faults.new}
            isFocused={faults.new !== undefined}
          />
          <label class="choice">
            <input
              type="checkbox"
              name="revoke_tokens"
              value="yes"
              checked={failedChange?.revokesAccessTokens ?? false}
            />
            <span>
              Also revoke all access tokens{' '}
              <span class="hint">if somebody else may have used your account</span>
            </span>
          </label>
          <button type="submit">Change password</button>
        </form>
      </details>
    </section>
  );
}
