import type { VNode } from 'preact';
import { Credentials, type RejectedSignIn, Layout, Masthead } from '../pages/index.js';

interface AccountSignInProps {
  readonly host: string;
  readonly csrfToken: string;
  readonly canSignUp: boolean;
  readonly failed?: RejectedSignIn | undefined;
  readonly alert?: string | undefined;
}

export function accountSignInPage({ host, csrfToken, canSignUp, failed, alert }: AccountSignInProps): VNode {
  return (
    <Layout title="Sign in to your account">
      <Masthead host={host} />
      <h1>Sign in to your account</h1>
      {alert && (
        <p class="alert" role="alert">
          {alert}
        </p>
      )}
      <Credentials
        action="/account"
        hidden={{ csrf_token: csrfToken }}
        {...{ canSignUp, failed }}
        isFocused={!alert}
      />
    </Layout>
  );
}
