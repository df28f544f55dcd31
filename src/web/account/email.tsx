import type { VNode } from 'preact';
import { ConfirmField, Field, Hidden } from '../layout/index.js';

/** A change of the address that was not accepted. */
export interface RejectedEmailChange {
  readonly email: string;
  readonly faults: Readonly<Partial<Record<'email' | 'password', string>>>;
}

interface EmailSectionProps {
  readonly csrfToken: string;
  readonly needsConfirmation: boolean;
  readonly failedEmail?: RejectedEmailChange | undefined;
}

export function EmailSection({ csrfToken, needsConfirmation, failedEmail }: EmailSectionProps): VNode {
  const { email = '', faults = {} } = failedEmail ?? {};
  return (
    <section aria-labelledby="email">
      <h2 id="email">Email address</h2>
      <p class="hint">A link is sent to the new address; until you follow it, nothing changes.</p>
      <details open={failedEmail !== undefined}>
        <summary>Change address</summary>
        <form method="post" action="/account/email" aria-label="Change address">
          <Hidden fields={{ csrf_token: csrfToken }} />
          <Field
            id="new-email"
            name="email"
            label="New email address"
            type="email"
            autocomplete="email"
            value={email}
            fault={faults.email}
            isFocused={faults.email !== undefined}
          />
          {needsConfirmation && <ConfirmField id="email-password" fault={faults.password} />}
          <button type="submit">Send the link</button>
        </form>
      </details>
    </section>
  );
}
