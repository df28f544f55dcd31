import type { VNode } from 'preact';
import {
  Credentials,
  Layout,
  Masthead,
  type RejectedSignIn,
  SingleSignOnForm,
  type SingleSignOnOption,
} from '../layout/index.js';
import type { AccountPageProps } from './account-page-props.js';
import { ActionForm } from './action-form.js';
import { ActivitySection } from './activity.js';
import { DeleteSection, ProfileSection } from './profile.js';
import { DevicesSection, SessionsSection } from './sessions.js';
import { EmailSection } from './email.js';
import { ExportSection, PlanSection } from './plan.js';
import { FactorSection } from './factors.js';
import { NoticesSection } from './notices.js';
import { PasskeysSection } from './passkeys.js';
import { PasswordSection } from './password.js';
import { SingleSignOnSection } from './single-sign-on.js';
import { TokensSection } from './tokens.js';
import { WorkspacesSection } from './workspaces.js';

/** The parts of the page, in their order: id of the heading, name in the list of sections, content. */
const SECTIONS: readonly (readonly [string, string, (props: AccountPageProps) => VNode])[] = [
  ['plan', 'Plan and storage', PlanSection],
  ['workspaces', 'Workspaces', WorkspacesSection],
  ['profile', 'Profile', ProfileSection],
  ['email', 'Email address', EmailSection],
  ['notices', 'Mail notices', NoticesSection],
  ['password', 'Password', PasswordSection],
  ['factor', 'Second factor', FactorSection],
  ['passkeys', 'Passkeys', PasskeysSection],
  ['single-sign-on', 'Single sign-on', SingleSignOnSection],
  ['sessions', 'Sessions', SessionsSection],
  ['devices', 'Devices', DevicesSection],
  ['tokens', 'Access tokens', TokensSection],
  ['activity', 'Activity', ActivitySection],
  ['export', 'Export', ExportSection],
  ['delete', 'Delete account', DeleteSection],
];

export function accountPage(props: AccountPageProps): VNode {
  const { host, csrfToken, session, alert, notice, hasPasswords, canChangeEmail } = props;
  const isShown: Readonly<Record<string, boolean>> = {
    password: hasPasswords,
    email: canChangeEmail,
    notices: props.overview.wantedNotices !== undefined,
    'single-sign-on': props.overview.link.isLinked,
  };
  const sections = SECTIONS.filter(([id]) => isShown[id] ?? true);
  return (
    <Layout title="Your account" isWide>
      <Masthead host={host} at="account" />
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
      <Administration overview={props.overview} />
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
      {props.singleSignOn && props.needsConfirmation && (
        <section aria-labelledby="confirm">
          <h2 id="confirm">Confirm that it is you</h2>
          <p class="hint">
            What cannot be undone needs a sign-in of the last ten minutes: your password in its form, or this.
          </p>
          <SingleSignOnForm option={props.singleSignOn} hidden={{ csrf_token: csrfToken }} isFresh />
        </section>
      )}
      <nav class="sections" aria-label="Sections">
        <ul>
          {sections.map(([id, name]) => (
            <li key={id}>
              <a href={`#${id}`}>{name}</a>
            </li>
          ))}
        </ul>
      </nav>
      {sections.map(([id, , Section]) => (
        <Section key={id} {...props} />
      ))}
    </Layout>
  );
}

/** A link to the admin page, or what an administrator still needs to open it. Empty for other users. */
function Administration({ overview }: Pick<AccountPageProps, 'overview'>): VNode | null {
  const { isAdministrator, opensAdminPage, codesLeft, passkeys } = overview;
  if (!isAdministrator) return null;
  return (
    <p>
      You are an administrator of this service.{' '}
      {opensAdminPage ? (
        <a href="/admin">Administration</a>
      ) : codesLeft !== null || passkeys.length > 0 ? (
        'Its pages open once you sign out, and in again with your code or passkey.'
      ) : (
        <>
          Its pages open once you have a <a href="#factor">second factor</a> or a{' '}
          <a href="#passkeys">passkey</a>, and have signed in with it.
        </>
      )}
    </p>
  );
}

/** The page that links to the payment provider. */
export function billingPage(url: string, host: string): VNode {
  return (
    <Layout title="Billing">
      <Masthead host={host} at="account" />
      <h1>Your billing page is ready</h1>
      <p>
        Payments are made at <span class="name">{new URL(url).host}</span>. The link is valid for a few
        minutes.
      </p>
      <a class="button" href={url} rel="noreferrer">
        Open billing
      </a>
      <p>
        <a href="/account">Back to your account</a>
      </p>
    </Layout>
  );
}

interface AccountSignInProps {
  readonly host: string;
  readonly csrfToken: string;
  readonly canSignUp: boolean;
  readonly singleSignOn: SingleSignOnOption | undefined;
  readonly canRecover: boolean;
  readonly failed?: RejectedSignIn | undefined;
  readonly alert?: string | undefined;
}

export function accountSignInPage(props: AccountSignInProps): VNode {
  const { host, csrfToken, canSignUp, canRecover, singleSignOn, failed, alert } = props;
  return (
    <Layout title="Sign in to your account">
      <Masthead host={host} at="account" />
      <h1>Sign in to your account</h1>
      {alert && (
        <p class="alert" role="alert">
          {alert}
        </p>
      )}
      <Credentials
        action="/account"
        hidden={{ csrf_token: csrfToken }}
        returnTo="/account"
        {...{ canSignUp, canRecover, singleSignOn, failed }}
        isFocused={!alert}
      />
    </Layout>
  );
}
