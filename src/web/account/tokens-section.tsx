import type { VNode } from 'preact';
import { CopyField, Time } from '../layout/index.js';
import type { Overview } from './account-overview.js';
import { ActionForm, type FlashMessages } from './action-form.js';
import { MintForm } from './mint-form.js';
import { type ListedToken, MOST_TOKENS } from './token-forms.js';

interface TokensProps extends FlashMessages {
  readonly overview: Overview;
  readonly csrfToken: string;
  readonly needsConfirmation: boolean;
}

export function TokensSection(props: TokensProps): VNode {
  const { overview, csrfToken, needsConfirmation, minted, failedMint } = props;
  const { tokens, workspaces, codesLeft } = overview;
  return (
    <section aria-labelledby="tokens">
      <h2 id="tokens">Access tokens</h2>
      <p class="hint">For scripts and tools. A token is shown only once, when it is created.</p>
      {minted && <NewToken {...minted} />}
      {tokens.length === MOST_TOKENS && (
        <p class="hint">Showing the newest {MOST_TOKENS}. There may be more.</p>
      )}
      <ul class="things">
        {tokens.map((token) => (
          <li key={token.id}>
            <TokenFacts token={token} />
            <ActionForm action="/account/tokens/revoke" csrfToken={csrfToken} id={token.id}>
              <button type="submit" class="quiet" aria-label={`Revoke ${token.name}`}>
                Revoke
              </button>
            </ActionForm>
          </li>
        ))}
      </ul>
      <details open={failedMint !== undefined}>
        <summary>New token</summary>
        <MintForm
          {...{ csrfToken, workspaces, needsConfirmation }}
          hasFactor={codesLeft !== null}
          failed={failedMint}
        />
      </details>
    </section>
  );
}

function TokenFacts({ token }: { readonly token: ListedToken }): VNode {
  const { name, scopes, workspaceName, lastUsedAt, expiresAt } = token;
  return (
    <div>
      <p>
        {name}{' '}
        {scopes.map((scope) => (
          <span class="badge" key={scope}>
            {scope}
          </span>
        ))}
      </p>
      <p class="hint">
        {workspaceName === null ? 'All workspaces' : `Only ${workspaceName}`},{' '}
        {lastUsedAt ? 'last used ' : 'never used'}
        {lastUsedAt && <Time at={lastUsedAt} />}, {expiresAt ? 'expires ' : 'never expires'}
        {expiresAt && <Time at={expiresAt} />}
      </p>
    </div>
  );
}

function NewToken({ name, raw }: { readonly name: string; readonly raw: string }): VNode {
  return (
    <div class="field new-token" role="status">
      <label for="new-token">The new token {name}. Copy it now: it is not shown again.</label>
      <CopyField id="new-token" value={raw} />
    </div>
  );
}
