import type { VNode } from 'preact';
import { Hidden } from './fields.js';

interface CheckMailProps {
  readonly email: string;
  readonly csrfToken: string;
  /** The page with the sign-in form. */
  readonly returnTo: string;
}

/** In place of the sign-in form, when the address must be confirmed first. The same for an address that has an account already. */
export function CheckMail({ email, csrfToken, returnTo }: CheckMailProps): VNode {
  return (
    <div class="credentials">
      <h2>Check your mail</h2>
      <p role="status">
        A mail was sent to <span class="name">{email}</span>. Follow the link in it to confirm the address,
        then sign in.
      </p>
      <form method="post" action="/account/verify/send" aria-label="Send another mail">
        <Hidden fields={{ csrf_token: csrfToken, email }} />
        <button type="submit" class="quiet">
          Send another mail
        </button>
      </form>
      <p>
        <a href={returnTo}>Back to sign in</a>
      </p>
    </div>
  );
}
