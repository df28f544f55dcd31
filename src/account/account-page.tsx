import type { VNode } from 'preact';
import type { BrowserSession } from '../auth/index.js';
import { Credentials, Layout, Masthead, type RejectedSignIn, Time } from '../pages/index.js';
import { MOST_DEVICES, type Overview } from './account-overview.js';
import { ActionForm, type FlashMessages } from './action-form.js';
import { EmailSection } from './email-section.js';
import { PasswordSection } from './password-section.js';
import { PlanSection } from './plan-section.js';
import { SessionsSection } from './sessions-section.js';
import { TokensSection } from './tokens-section.js';

interface DevicesProps {
  readonly overview: Overview;
  readonly csrfToken: string;
}

function DevicesSection({ overview, csrfToken }: DevicesProps): VNode {
  const { devices } = overview;
  return (
    <section aria-labelledby="devices">
      <h2 id="devices">Devices</h2>
      {devices.length === 0 && <p class="hint">No device is registered.</p>}
      {devices.length === MOST_DEVICES && (
        <p class="hint">There may be older ones. The newest {MOST_DEVICES} are shown.</p>
      )}
      <ul class="things">
        {devices.map(({ id, name, platform, lastSeenAt, createdAt }) => (
          <li key={id}>
            <div>
              <p>
                {name} <span class="badge">{platform}</span>
              </p>
              <p class="hint">
                {lastSeenAt ? 'Last seen ' : 'Registered '}
                <Time at={lastSeenAt ?? createdAt} />
              </p>
            </div>
            <ActionForm action="/account/devices/remove" {...{ csrfToken, id }}>
              <button type="submit" class="quiet" aria-label={`Remove ${name}`}>
                Remove
              </button>
            </ActionForm>
          </li>
        ))}
      </ul>
    </section>
  );
}

export interface AccountPageProps extends FlashMessages {
  readonly host: string;
  readonly csrfToken: string;
  readonly session: BrowserSession;
  /** Whether forms that need a recent sign-in must ask for the password. */
  readonly needsConfirmation: boolean;
  readonly overview: Overview;
  /** Whether the service can send mail. */
  readonly canChangeEmail: boolean;
  readonly hasBilling: boolean;
}

export function accountPage(props: AccountPageProps): VNode {
  const { host, csrfToken, session, overview, alert, notice, hasBilling } = props;
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
      <PlanSection {...{ overview, csrfToken, hasBilling }} />
      <SessionsSection {...{ overview, csrfToken }} currentId={session.id} />
      {props.canChangeEmail && <EmailSection {...props} />}
      <PasswordSection {...props} />
      <DevicesSection {...{ overview, csrfToken }} />
      <TokensSection {...props} />
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
  readonly canRecover: boolean;
  readonly failed?: RejectedSignIn | undefined;
  readonly alert?: string | undefined;
}

export function accountSignInPage(props: AccountSignInProps): VNode {
  const { host, csrfToken, canSignUp, canRecover, failed, alert } = props;
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
        {...{ canSignUp, canRecover, failed }}
        isFocused={!alert}
      />
    </Layout>
  );
}
