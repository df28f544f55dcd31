import type { VNode } from 'preact';
import { ConfirmField, Hidden } from '../layout/index.js';
import type { AccountPageProps } from './account-page-props.js';

/** Shown for an account that is linked to the provider. */
export function SingleSignOnSection(props: AccountPageProps): VNode {
  const { overview, csrfToken, needsConfirmation, failedUnlinking } = props;
  const name = props.singleSignOn?.name ?? 'single sign-on';
  return (
    <section aria-labelledby="single-sign-on">
      <h2 id="single-sign-on">Single sign-on</h2>
      <p class="hint">
        You can sign in through <span class="name">{name}</span>.
      </p>
      {overview.link.hasAnotherWay ? (
        <details open={failedUnlinking !== undefined}>
          <summary>Disconnect</summary>
          <form method="post" action="/account/single-sign-on/disconnect" aria-label={`Disconnect ${name}`}>
            <Hidden fields={{ csrf_token: csrfToken }} />
            <p class="hint">
              Ends all other sessions; you sign in with your password or a passkey from then on. Whoever signs
              in at {name} with your address connects it again.
            </p>
            {needsConfirmation && (
              <ConfirmField
                id="unlinking-password"
                hasFactor={overview.codesLeft !== null}
                fault={failedUnlinking?.fault}
              />
            )}
            <button type="submit" class="danger">
              Disconnect {name}
            </button>
          </form>
        </details>
      ) : (
        <p class="hint">
          It is your only way to sign in, so it cannot be disconnected.
          {props.hasPasswords && ' Add a passkey first.'}
        </p>
      )}
    </section>
  );
}
