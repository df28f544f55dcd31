import type { VNode } from 'preact';
import {
  Field,
  Hidden,
  Layout,
  Masthead,
  NewPasswordField,
  SingleSignOnForm,
  type SingleSignOnOption,
} from '../layout/index.js';

export type InviteeField = 'name' | 'password';

/** What is wrong with the form; never contains the password. */
export interface RejectedInvitee {
  readonly name: string;
  readonly faults: Readonly<Partial<Record<InviteeField, string>>>;
  readonly alert?: string;
}

interface InvitationProps {
  readonly host: string;
  readonly csrfToken: string;
  readonly token: string;
  readonly email: string;
  readonly singleSignOn: SingleSignOnOption | undefined;
  readonly failed?: RejectedInvitee | undefined;
}

export function invitationPage(props: InvitationProps): VNode {
  const { host, csrfToken, email, singleSignOn, failed } = props;
  return (
    <Layout title="Make your account">
      <Masthead host={host} />
      <h1>Make your account</h1>
      <p>
        You are invited with the address <span class="name">{email}</span>.
      </p>
      {failed?.alert && (
        <p class="alert" role="alert">
          {failed.alert}
        </p>
      )}
      {singleSignOn && (
        <>
          <p>Your account is made when you sign in with this address:</p>
          <SingleSignOnForm option={singleSignOn} hidden={{ csrf_token: csrfToken }} />
        </>
      )}
      {!singleSignOn?.isOnly && <InviteeForm {...props} />}
    </Layout>
  );
}

function InviteeForm({ csrfToken, token, email, singleSignOn, failed }: InvitationProps): VNode {
  const { faults = {}, name = '' } = failed ?? {};
  return (
    <>
      <p>{singleSignOn ? 'Or choose' : 'Choose'} a name and a password.</p>
      <form method="post" action="/account/invitation" class="credentials" aria-label="Make your account">
        <Hidden fields={{ csrf_token: csrfToken, token }} />
        <div class="field">
          <label for="email">Email address</label>
          <input id="email" type="email" autocomplete="username" value={email} readonly />
        </div>
        <Field
          id="name"
          name="name"
          label="Name"
          type="text"
          autocomplete="name"
          value={name}
          fault={faults.name}
          isFocused={faults.password === undefined}
        />
        <NewPasswordField
          id="password"
          name="password"
          label="Password"
          fault={faults.password}
          isFocused={faults.password !== undefined}
        />
        <button type="submit">Make the account</button>
      </form>
    </>
  );
}

export function usedInvitationPage({ host }: { readonly host: string }): VNode {
  return (
    <Layout title="This invitation does not work">
      <Masthead host={host} />
      <h1>This invitation does not work</h1>
      <p>It was used or replaced, or it is older than seven days.</p>
      <p>
        If you have made your account, <a href="/account">sign in</a>. If not, ask who invited you for another
        invitation.
      </p>
    </Layout>
  );
}
