import type { VNode } from 'preact';
import {
  Credentials,
  Layout,
  Masthead,
  Messages,
  type RejectedSignIn,
  SingleSignOnForm,
  type SingleSignOnOption,
  SitePage,
} from '../layout/index.js';
import { type AccountPageProps, ActionButton } from './account-form.js';
import { LatestActivity } from './activity.js';
import { SecondFactor } from './factors.js';
import { EmailAddress, MailNotices } from './mail.js';
import { PasskeyList } from './passkeys.js';
import { BillingButton, Export, Plan } from './plan.js';
import { Deletion, Profile } from './profile.js';
import { DeviceList, Sessions, SignOutButton } from './sessions.js';
import { LinkToProvider, PasswordChange } from './sign-ins.js';
import { AccessTokens } from './tokens.js';
import { Workspaces } from './workspaces.js';

type Part = (props: AccountPageProps) => VNode | null;

/** The parts of the page, in their order: id and text of the heading, the content, and what stands beside the heading. */
const SECTIONS: readonly (readonly [string, string, Part, Part?])[] = [
  ['plan', 'Plan and storage', Plan, BillingButton],
  ['workspaces', 'Workspaces', Workspaces],
  ['profile', 'Profile', Profile],
  ['email', 'Email address', EmailAddress],
  ['notices', 'Mail notices', MailNotices],
  ['password', 'Password', PasswordChange],
  ['factor', 'Second factor', SecondFactor],
  ['passkeys', 'Passkeys', PasskeyList],
  ['single-sign-on', 'Single sign-on', LinkToProvider],
  ['sessions', 'Sessions', Sessions, SignOutButton],
  ['devices', 'Devices', DeviceList],
  ['tokens', 'Access tokens', AccessTokens],
  ['activity', 'Activity', LatestActivity],
  ['export', 'Export', Export],
  ['delete', 'Delete account', Deletion],
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
        <ActionButton action="/account/sign-out" csrfToken={csrfToken} text="Sign out" />
      </div>
      <Administration overview={props.overview} />
      <Messages {...{ alert, notice }} />
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
      {sections.map(([id, name, Content, Beside]) => (
        <section key={id} aria-labelledby={id}>
          {Beside ? (
            <div class="heading">
              <h2 id={id}>{name}</h2>
              <Beside {...props} />
            </div>
          ) : (
            <h2 id={id}>{name}</h2>
          )}
          <Content {...props} />
        </section>
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

export function billingPage(url: string, host: string): VNode {
  return (
    <SitePage title="Billing" heading="Your billing page is ready" host={host} at="account">
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
    </SitePage>
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
    <SitePage title="Sign in to your account" host={host} at="account">
      <Messages alert={alert} />
      <Credentials
        action="/account"
        hidden={{ csrf_token: csrfToken }}
        returnTo="/account"
        {...{ canSignUp, canRecover, singleSignOn, failed }}
        isFocused={!alert}
      />
    </SitePage>
  );
}
