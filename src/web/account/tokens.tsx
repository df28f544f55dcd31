import type { VNode } from 'preact';
import { type Scope, SCOPES } from '../../access/index.js';
import { CopyField, Fault, Field, SelectField, Time } from '../layout/index.js';
import {
  type AccountPageProps,
  ActionButton,
  Confirmation,
  enteredIn,
  FoldedForm,
  formAt,
  Truncated,
} from './account-form.js';
import { LIFETIMES, type ListedToken, MOST_TOKENS } from './token-forms.js';

const MEANINGS: Readonly<Record<Scope, string>> = {
  full: 'Everything except managing tokens',
  'documents:read': 'Read notes, history and checkpoints',
  'documents:write': 'Write notes, restore versions and create checkpoints',
  'agent:invoke': 'See whose account it is, nothing else',
  'assets:read': 'Read attachments',
  'assets:write': 'Add attachments',
};

function MintForm(props: AccountPageProps): VNode {
  const { overview } = props;
  const form = formAt(props, '/account/tokens');
  const { faults = {}, entered } = form.failed ?? {};
  return (
    <FoldedForm {...form} summary="New token">
      <Field {...enteredIn(form, 'name')} id="token-name" label="Name" />
      <ScopesField chosen={entered?.all('scopes') ?? []} fault={faults.scopes} isFocused={!faults.name} />
      <SelectField
        {...enteredIn(form, 'workspace')}
        id="token-workspace"
        label="Workspace"
        options={[
          { value: '', text: 'All workspaces' },
          ...overview.workspaces.map(({ id, name }) => ({ value: id, text: name })),
        ]}
      />
      <SelectField
        {...enteredIn(form, 'expiry', '90')}
        id="token-expiry"
        label="Expires"
        options={LIFETIMES.map((days) => ({
          value: days,
          text: days === 'never' ? 'Never' : `In ${days} days`,
        }))}
      />
      <Confirmation
        {...form}
        id="token-password"
        hasFactor={overview.codesLeft !== null}
        hint="Needed for a token with full access or without an expiry."
      />
      <button type="submit">Create token</button>
    </FoldedForm>
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
      <Fault of="scopes" text={fault} />
    </fieldset>
  );
}

export function AccessTokens(props: AccountPageProps): VNode {
  const { overview, csrfToken, minted } = props;
  const { tokens } = overview;
  return (
    <>
      <p class="hint">For scripts and tools. A token is shown only once, when it is created.</p>
      {minted && <NewToken {...minted} />}
      <Truncated shown={tokens.length} most={MOST_TOKENS} />
      <ul class="things">
        {tokens.map((token) => (
          <li key={token.id}>
            <TokenFacts token={token} />
            <ActionButton
              action="/account/tokens/revoke"
              csrfToken={csrfToken}
              id={token.id}
              text="Revoke"
              label={`Revoke ${token.name}`}
            />
          </li>
        ))}
      </ul>
      <MintForm {...props} />
    </>
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
