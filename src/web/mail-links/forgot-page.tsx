import type { VNode } from 'preact';
import { Field, Hidden, Layout, Masthead } from '../layout/index.js';
import type { PageContext } from './link-forms.js';

interface ForgotPageProps extends PageContext {
  readonly email?: string;
  readonly fault?: string;
}

export function forgotPage({ host, csrfToken, alert, email, fault }: ForgotPageProps): VNode {
  return (
    <Layout title="Forgotten password">
      <Masthead host={host} />
      <h1>Forgotten password</h1>
      <p>Enter the email address of your account. A link to choose a new password is sent to it.</p>
      {alert && (
        <p class="alert" role="alert">
          {alert}
        </p>
      )}
      <form method="post" action="/account/forgot" aria-label="Forgotten password">
        <Hidden fields={{ csrf_token: csrfToken }} />
        <Field
          id="email"
          name="email"
          label="Email address"
          type="email"
          autocomplete="username"
          {...(email === undefined ? {} : { value: email })}
          fault={fault}
          isFocused
        />
        <button type="submit">Send the link</button>
      </form>
      <p>
        <a href="/account">Back to sign in</a>
      </p>
    </Layout>
  );
}

export function sentPage({ host }: Pick<PageContext, 'host'>): VNode {
  return (
    <Layout title="Check your mail">
      <Masthead host={host} />
      <h1>Check your mail</h1>
      <p role="status">
        If there is an account with this address, a mail with a link is on its way to it. The link works for
        30 minutes, once.
      </p>
      <p class="hint">
        Nothing there after a few minutes? Look into the spam folder, and check that you entered the address
        of your account.
      </p>
      <p>
        <a href="/account/forgot">Try again</a> · <a href="/account">Back to sign in</a>
      </p>
    </Layout>
  );
}
