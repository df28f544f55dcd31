import type { VNode } from 'preact';
import { Hidden, Layout, Masthead, NewPasswordField, RevokeTokensChoice } from '../layout/index.js';
import type { PageContext } from './link-forms.js';

interface ResetPageProps extends PageContext {
  /** The address of the account, so that nobody chooses a password for another one by mistake. */
  readonly email: string;
  readonly fault?: string | undefined;
}

export function resetPage({ host, csrfToken, alert, email, fault }: ResetPageProps): VNode {
  return (
    <Layout title="Choose a new password">
      <Masthead host={host} />
      <h1>Choose a new password</h1>
      <p>
        For the account <span class="name">{email}</span>. It is signed out everywhere.
      </p>
      {alert && (
        <p class="alert" role="alert">
          {alert}
        </p>
      )}
      <form method="post" action="/account/reset" aria-label="Choose a new password">
        <Hidden fields={{ csrf_token: csrfToken }} />
        <NewPasswordField
          id="new-password"
          name="new_password"
          label="New password"
          fault={fault}
          isFocused
        />
        <RevokeTokensChoice />
        <button type="submit">Change the password</button>
      </form>
      <p class="hint">
        The password opens your account, not your encrypted workspaces: their own passwords stay as they are.
      </p>
    </Layout>
  );
}

export function donePage({ host }: Pick<PageContext, 'host'>): VNode {
  return (
    <Layout title="Your password is changed">
      <Masthead host={host} />
      <h1>Your password is changed</h1>
      <p role="status">All sign-ins have ended. Sign in with the new password.</p>
      <a class="button" href="/account">
        Sign in
      </a>
    </Layout>
  );
}

export function brokenLinkPage({ host }: Pick<PageContext, 'host'>): VNode {
  return (
    <Layout title="This link does not work any more">
      <Masthead host={host} />
      <h1>This link does not work any more</h1>
      <p>It has been used, its time is over, or a newer link has replaced it.</p>
      <p>
        <a href="/account/forgot">Ask for a new link</a> · <a href="/account">Back to sign in</a>
      </p>
    </Layout>
  );
}
