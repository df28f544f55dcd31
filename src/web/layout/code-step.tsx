import type { VNode } from 'preact';
import { Field, Hidden, PostForm } from './fields.js';
import type { FactorStep } from './sign-in-forms.js';

interface CodeStepProps {
  /** The address to which the forms are posted. */
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  readonly step: FactorStep;
  /** Whether a password was the first step. */
  readonly isAfterPassword?: boolean;
}

/** Asks for a code of the authenticator app and, below it, collapsed, for a backup code. */
export function CodeStep({ action, hidden, step, isAfterPassword = true }: CodeStepProps): VNode {
  const { kind, fault } = step;
  return (
    <div class="code-step">
      <p>{isAfterPassword && 'Your password is right. '}This account has a second factor.</p>
      <form method="post" action={action} aria-label="Enter the code">
        <Hidden fields={{ ...hidden, intent: 'totp' }} />
        <Field
          id="sign-in-code"
          name="code"
          label="Code from your authenticator app"
          inputMode="numeric"
          autocomplete="one-time-code"
          hint="Six digits that change every 30 seconds."
          fault={kind === 'totp' ? fault : undefined}
          isFocused={kind === 'totp'}
        />
        <button type="submit">Continue</button>
      </form>
      <details open={kind === 'backup'}>
        <summary>Use a backup code</summary>
        <form method="post" action={action} aria-label="Enter a backup code">
          <Hidden fields={{ ...hidden, intent: 'backup' }} />
          <Field
            id="sign-in-backup-code"
            name="code"
            label="Backup code"
            hint="One of the ten codes that you saved. Each works once."
            fault={kind === 'backup' ? fault : undefined}
            isFocused={kind === 'backup'}
          />
          <button type="submit">Continue</button>
        </form>
      </details>
    </div>
  );
}

interface CheckMailProps {
  readonly email: string;
  readonly csrfToken: string;
  /** The page with the sign-in form. */
  readonly returnTo: string;
}

/** Replaces the sign-in form when the address must be confirmed first; the same for an address that already has an account. */
export function CheckMail({ email, csrfToken, returnTo }: CheckMailProps): VNode {
  return (
    <div class="credentials">
      <h2>Check your mail</h2>
      <p role="status">
        A mail was sent to <span class="name">{email}</span>. Follow the link in it to confirm the address,
        then sign in.
      </p>
      <PostForm
        action="/account/verify/send"
        csrfToken={csrfToken}
        fields={{ email }}
        label="Send another mail"
      >
        <button type="submit" class="quiet">
          Send another mail
        </button>
      </PostForm>
      <p>
        <a href={returnTo}>Back to sign in</a>
      </p>
    </div>
  );
}
