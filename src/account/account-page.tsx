import type { VNode } from 'preact';
import type { BrowserSession } from '../auth/index.js';
import { Layout, Masthead } from '../pages/index.js';
import type { FlashMessages } from './flash-messages.js';
import type { Overview } from './account-overview.js';
import { ActionForm } from './action-form.js';
import { DevicesSection } from './devices-section.js';
import { PasswordSection } from './password-section.js';
import { PlanSection } from './plan-section.js';
import { SessionsSection } from './sessions-section.js';
import { TokensSection } from './tokens-section.js';

export interface AccountPageProps extends FlashMessages {
  readonly host: string;
  readonly csrfToken: string;
  readonly session: BrowserSession;
  readonly overview: Overview;
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
      <PasswordSection {...props} />
      <DevicesSection {...{ overview, csrfToken }} />
      <TokensSection {...props} />
    </Layout>
  );
}
