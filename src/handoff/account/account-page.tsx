import type { VNode } from 'preact';
import type { BrowserSession } from '../../auth/index.js';
import { Layout, Masthead } from '../layout.js';
import type { AccountNews } from './account-news.js';
import type { Overview } from './account-overview.js';
import { ActionForm } from './action-form.js';
import { DevicesSection } from './devices-section.js';
import { PlanSection } from './plan-section.js';
import { SessionsSection } from './sessions-section.js';
import { TokensSection } from './tokens-section.js';

export interface AccountPageProps extends AccountNews {
  readonly host: string;
  readonly formToken: string;
  readonly session: BrowserSession;
  readonly overview: Overview;
  readonly hasBilling: boolean;
}

export function accountPage(props: AccountPageProps): VNode {
  const { host, formToken, session, overview, alert, hasBilling } = props;
  return (
    <Layout title="Your account" isWide>
      <Masthead host={host} />
      <div class="profile">
        <div>
          <h1>{session.name}</h1>
          <p class="hint">{session.email}</p>
        </div>
        <ActionForm action="/account/sign-out" formToken={formToken}>
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
      <PlanSection {...{ overview, formToken, hasBilling }} />
      <SessionsSection {...{ overview, formToken }} currentId={session.id} />
      <DevicesSection {...{ overview, formToken }} />
      <TokensSection {...props} />
    </Layout>
  );
}
