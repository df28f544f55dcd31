import type { VNode } from 'preact';
import { Field, Hidden, Layout, Masthead, NewPasswordField } from '../layout/index.js';
import type { PageContext } from './link-forms.js';

interface ConfirmPageProps extends PageContext {
  readonly email: string;
  readonly action: string;
  readonly needsPassword: boolean;
  /** Whether a new password may be chosen instead of giving the account's. */
  readonly canStartAnew: boolean;
  readonly faults: { readonly password?: string; readonly newPassword?: string };
}

/** Asks before an address is confirmed: programs that open the links in mails must not do it. */
export function confirmPage(props: ConfirmPageProps): VNode {
  const { host, csrfToken, alert, email, action, needsPassword, canStartAnew, faults } = props;
  return (
    <Layout title="Confirm your address">
      <Masthead host={host} />
      <h1>Confirm your address</h1>
      <p>
        Is <span class="name">{email}</span> your address, and is the account yours?{' '}
        {needsPassword && 'Its password shows that nobody else has made it.'}
      </p>
      {alert && (
        <p class="alert" role="alert">
          {alert}
        </p>
      )}
      <form method="post" action={action} aria-label="Confirm">
        <Hidden fields={{ csrf_token: csrfToken }} />
        {needsPassword && (
          <Field
            id="password"
            name="password"
            type="password"
            label="Password of the account"
            autocomplete="current-password"
            fault={faults.password}
            isFocused={faults.newPassword === undefined}
          />
        )}
        <button type="submit">Confirm the address</button>
      </form>
      {canStartAnew && <StartAnew csrfToken={csrfToken} action={action} fault={faults.newPassword} />}
      <p class="warning">If you did not ask for this, close this page.</p>
    </Layout>
  );
}

interface StartAnewProps extends Pick<ConfirmPageProps, 'csrfToken' | 'action'> {
  readonly fault: string | undefined;
}

function StartAnew({ csrfToken, action, fault }: StartAnewProps): VNode {
  return (
    <section>
      <h2>You do not know the password?</h2>
      <p>
        Choose a new one. Everything with which the account was used so far ends: sign-ins, access tokens,
        passkeys and a second factor.
      </p>
      <form method="post" action={action} aria-label="Start anew">
        <Hidden fields={{ csrf_token: csrfToken }} />
        <NewPasswordField
          id="new-password"
          name="new_password"
          label="New password"
          fault={fault}
          isFocused={fault !== undefined}
        />
        <button type="submit" class="secondary">
          Start anew
        </button>
      </form>
    </section>
  );
}

export function confirmedPage({ host }: Pick<PageContext, 'host'>): VNode {
  return (
    <Layout title="Your address is confirmed">
      <Masthead host={host} />
      <h1>Your address is confirmed</h1>
      <p role="status">Sign in with it, here or in the app or the website that you came from.</p>
      <a class="button" href="/account">
        Go to your account
      </a>
    </Layout>
  );
}

export function sentAgainPage({ host }: Pick<PageContext, 'host'>): VNode {
  return (
    <Layout title="Check your mail">
      <Masthead host={host} />
      <h1>Check your mail</h1>
      <p role="status">
        If an account with this address waits to be confirmed, another mail is on its way. Its link replaces
        earlier ones.
      </p>
      <p>
        <a href="/account">Back to sign in</a>
      </p>
    </Layout>
  );
}

export function deadLinkPage({ host }: Pick<PageContext, 'host'>): VNode {
  return (
    <Layout title="This link does not work any more">
      <Masthead host={host} />
      <h1>This link does not work any more</h1>
      <p>
        It has been used, its time is over, or a newer link has replaced it. If the address is not confirmed
        yet, sign in to have another link sent.
      </p>
      <p>
        <a href="/account">Sign in</a>
      </p>
    </Layout>
  );
}
