import type { VNode } from 'preact';
import { type BrowserSession, ONE_TIME_TOKEN_MINUTES } from '../../domain/auth/index.js';
import {
  CopyField,
  Credentials,
  Hidden,
  Messages,
  type RejectedSignIn,
  type SingleSignOnOption,
  SitePage,
  Time,
} from '../layout/index.js';
import { addressOf, comparisonCode, PATHS, type Target, withToken } from './targets.js';

export interface HandoffPageProps {
  readonly host: string;
  readonly target: Target;
  readonly session: BrowserSession | null;
  readonly csrfToken: string;
  readonly canSignUp: boolean;
  readonly singleSignOn: SingleSignOnOption | undefined;
  readonly canRecover: boolean;
  readonly failed?: RejectedSignIn | undefined;
  readonly alert?: string | undefined;
}

/** Asks the user whether an app or a website may be signed in, and with which account. */
export function handoffPage(props: HandoffPageProps): VNode {
  const { host, target, session, csrfToken, failed, alert } = props;
  const { canSignUp, canRecover, singleSignOn } = props;
  const action = PATHS[target.kind];
  const returnTo = addressOf(target);
  const hidden = { ...target.fields, csrf_token: csrfToken };
  const heading = (
    <>
      {session ? 'Continue to' : 'Sign in to'} <span class="name">{target.name}</span>
    </>
  );
  const forms = (
    <Credentials
      {...{ action, hidden, returnTo, canSignUp, canRecover, singleSignOn, failed }}
      isFocused={session === null && !alert}
    />
  );
  return (
    <SitePage title={`Sign in to ${target.name}`} heading={heading} host={host}>
      <Request target={target} />
      <Messages alert={alert} />
      {session ? (
        <>
          <Continue {...{ action, session }} hidden={hidden} />
          <details class="other" open={failed !== undefined}>
            <summary>Use another account</summary>
            {forms}
          </details>
        </>
      ) : (
        forms
      )}
      <p class="warning">If you did not just start this sign-in yourself, close this page.</p>
    </SitePage>
  );
}

/** The requesting client, and a code to check that it is the client on the user's own screen. */
function Request({ target }: Pick<HandoffPageProps, 'target'>): VNode {
  return (
    <dl class="facts">
      <div>
        <dt>Requested by</dt>
        <dd>{target.kind === 'desktop' ? 'an app on this device' : 'a website'}</dd>
      </div>
      <div>
        <dt>Code to compare</dt>
        <dd class="code">{comparisonCode(target.clientState)}</dd>
      </div>
      <div>
        <dt>Valid for</dt>
        <dd>{ONE_TIME_TOKEN_MINUTES} minutes, one use</dd>
      </div>
    </dl>
  );
}

interface ContinueProps {
  readonly action: string;
  readonly session: BrowserSession;
  readonly hidden: Readonly<Record<string, string>>;
}

function Continue({ action, session, hidden }: ContinueProps): VNode {
  return (
    <form method="post" action={action} aria-label="Continue">
      <Hidden fields={{ ...hidden, intent: 'continue' }} />
      <button type="submit">
        Continue as <span class="name">{session.name}</span>
      </button>
      <p class="hint who">{session.email}</p>
    </form>
  );
}

export interface OpenAppPageProps {
  readonly host: string;
  readonly target: Target;
  readonly token: string;
  readonly expiresAt: Date;
}

/** Leads to the app by a link: a redirect to a scheme that no app has registered leaves the user on an empty page. */
export function openAppPage({ host, target, token, expiresAt }: OpenAppPageProps): VNode {
  const link = withToken(target, token);
  return (
    <SitePage title={`Open ${target.name}`} heading="You are signed in" host={host}>
      <p>
        Continue in <b class="name">{target.name}</b>.
      </p>
      <dl class="facts">
        <div>
          <dt>Code to compare</dt>
          <dd class="code">{comparisonCode(target.clientState)}</dd>
        </div>
        <div>
          <dt>Valid until</dt>
          <dd>
            <Time at={expiresAt} isToday /> <span class="left" data-until={expiresAt.toISOString()} />
          </dd>
        </div>
      </dl>
      <a class="button" href={link} data-open>
        Open {target.name}
      </a>
      <div class="field fallback">
        <label for="link">If the app does not open, copy this link into it.</label>
        <CopyField id="link" value={link} describedBy="link-hint" />
        <p class="hint" id="link-hint">
          Anyone who has this link can sign in with it, once. Do not share it.
        </p>
      </div>
      <p class="warning">You can close this page once the app is open.</p>
    </SitePage>
  );
}
