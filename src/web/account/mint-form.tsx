import type { VNode } from 'preact';
import { type Scope, SCOPES } from '../../access/index.js';
import { ConfirmField, Field, Hidden, SelectField } from '../layout/index.js';
import { LIFETIMES, type RejectedToken, type TokenOverview } from './token-forms.js';

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
