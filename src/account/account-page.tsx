import type { VNode } from 'preact';
import { Credentials, Layout, Masthead, type RejectedSignIn } from '../pages/index.js';
import type { AccountPageProps } from './account-page-props.js';
import { ActionForm } from './action-form.js';
import { DeleteSection } from './delete-section.js';
import { DevicesSection } from './devices-section.js';
import { ExportSection } from './export-section.js';
import { PasswordSection } from './password-section.js';
import { PlanSection } from './plan-section.js';
import { ProfileSection } from './profile-section.js';
import { SessionsSection } from './sessions-section.js';
import { TokensSection } from './tokens-section.js';
import { WorkspacesSection } from './workspaces-section.js';

/** The parts of the page, in their order: id of the heading, name in the list of sections, content. */
const SECTIONS: readonly (readonly [string, string, (props: AccountPageProps) => VNode])[] = [
  ['plan', 'Plan and storage', PlanSection],
  ['workspaces', 'Workspaces', WorkspacesSection],
  ['profile', 'Profile', ProfileSection],
  ['password', 'Password', PasswordSection],
  ['sessions', 'Signed in', SessionsSection],
  ['devices', 'Devices', DevicesSection],
  ['tokens', 'Access tokens', TokensSection],
  ['export', 'Export', ExportSection],
  ['delete', 'Delete account', DeleteSection],
];

export function accountPage(props: AccountPageProps): VNode {
  const { host, csrfToken, session, alert, notice } = props;
  return (
    <Layout title="Your account" isWide>
      <Masthead host={host} />
      <div class="profile">
        <div>
          <h1>{session.name}</h1>
          <p class="hint">{session.email}</p>
        </div>
        <ActionForm action="/account/sign-out" csrfToken={csrfToken}>
          <button type="submit" class="quiet">
            Sign out
          </button>
        </ActionForm>
      </div>
      {alert && (
        <p class="alert" role="alert">
          {alert}
        </p>
      )}
      {notice && (
        <p class="notice" role="status">
          {notice}
        </p>
      )}
      <nav class="sections" aria-label="Sections">
        <ul>
          {SECTIONS.map(([id, name]) => (
            <li key={id}>
              <a href={`#${id}`}>{name}</a>
            </li>
          ))}
        </ul>
      </nav>
      {SECTIONS.map(([id, , Section]) => (
        <Section key={id} {...props} />
      ))}
    </Layout>
  );
}

/** The page that links to the payment provider. */
export function billingPage(url: string): VNode {
  return (
    <Layout title="Billing">
      <h1>Your billing page is ready</h1>
      <p>
        It is at <span class="name">{new URL(url).host}</span>, where payments are made. The link works for a
        few minutes.
      </p>
      <a class="button" href={url} rel="noreferrer">
        Open billing
      </a>
      <p>
        <a href="/account">Back to the account</a>
      </p>
    </Layout>
  );
}

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
