import type { VNode } from 'preact';
import { Field, Hidden, NewPasswordField, RevokeTokensChoice } from '../layout/index.js';
import type { RejectedPasswordChange } from './password-form.js';

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
