import type { VNode } from 'preact';
import { comparisonCode } from './comparison-code.js';
import { CopyField, Layout, Masthead, Time } from '../layout/index.js';
import { type Target, withToken } from './targets.js';

export interface OpenAppPageProps {
  readonly host: string;
  readonly target: Target;
  readonly token: string;
  readonly expiresAt: Date;
}

/** Leads to the app by a link: a redirect to a scheme that no app has registered leaves people on an empty page. */
export function openAppPage({ host, target, token, expiresAt }: OpenAppPageProps): VNode {
  const link = withToken(target, token);
  return (
    <Layout title={`Open ${target.name}`}>
      <Masthead host={host} />
      <h1>You are signed in</h1>
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
    </Layout>
  );
}
