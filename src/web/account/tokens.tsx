import type { VNode } from 'preact';
import { type Scope, SCOPES } from '../../access/index.js';
import { ConfirmField, CopyField, Field, Hidden, SelectField, Time } from '../layout/index.js';
import type { Overview } from './account-overview.js';
import { ActionForm, type FlashMessages } from './action-form.js';
import {
  LIFETIMES,
  type ListedToken,
  MOST_TOKENS,
  type RejectedToken,
  type TokenOverview,
} from './token-forms.js';

interface MintFormProps {
  readonly csrfToken: string;
  readonly workspaces: TokenOverview['workspaces'];
  readonly needsConfirmation: boolean;
  readonly hasFactor: boolean;
  readonly failed: RejectedToken | undefined;
}

const MEANINGS: Readonly<Record<Scope, string>> = {
  full: 'Everything except managing tokens',
  'documents:read': 'Read notes, history and checkpoints',
  'documents:write': 'Write notes, restore versions and create checkpoints',
  'agent:invoke': 'See whose account it is, nothing else',
  'assets:read': 'Read attachments',
  'assets:write': 'Add attachments',
};

export function MintForm(props: MintFormProps): VNode {
  const { csrfToken, workspaces, needsConfirmation, hasFactor, failed } = props;
  const { faults = {}, values } = failed ?? {};
  return (
    <form method="post" action="/account/tokens" aria-label="New token">
      <Hidden fields={{ csrf_token: csrfToken }} />
      <Field
        id="token-name"
        name="name"
        label="Name"
        type="text"
        autocomplete="off"
        value={values?.name ?? ''}
        fault={faults.name}
        isFocused={faults.name !== undefined}
      />
      <ScopesField chosen={values?.scopes ?? []} fault={faults.scopes} isFocused={!faults.name} />
      <SelectField
        id="token-workspace"
        name="workspace"
        label="Workspace"
        options={[
          { value: '', text: 'All workspaces' },
          ...workspaces.map(({ id, name }) => ({ value: id, text: name })),
        ]}
        value={values?.workspaceId ?? ''}
        fault={faults.workspace}
      />
      <SelectField
        id="token-expiry"
        name="expiry"
        label="Expires"
        options={LIFETIMES.map((days) => ({
          value: days,
          text: days === 'never' ? 'Never' : `In ${days} days`,
        }))}
        value={values?.expiry ?? '90'}
        fault={faults.expiry}
      />
      {needsConfirmation && (
        <ConfirmField
          id="token-password"
          hasFactor={hasFactor}
          hint="Needed for a token with full access or without an expiry."
          fault={faults.password}
        />
      )}
      <button type="submit">Create token</button>
    </form>
  );
}

interface ScopesFieldProps {
  readonly chosen: readonly string[];
  readonly fault: string | undefined;
  /** Whether the field gets the focus when it has a fault. */
  readonly isFocused: boolean;
}

function ScopesField({ chosen, fault, isFocused }: ScopesFieldProps): VNode {
  return (
    <fieldset aria-describedby={fault ? 'scopes-fault' : undefined}>
      <legend>Permissions</legend>
      {SCOPES.map((scope, at) => (
        <label class="choice" key={scope}>
          <input
            type="checkbox"
            name="scopes"
            value={scope}
            checked={chosen.includes(scope)}
            aria-invalid={fault ? 'true' : undefined}
            autofocus={at === 0 && fault !== undefined && isFocused}
          />
          <span>
            {MEANINGS[scope]} <span class="hint">{scope}</span>
          </span>
        </label>
      ))}
      {fault && (
        <p class="fault" id="scopes-fault">
          {fault}
        </p>
      )}
    </fieldset>
  );
}

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
