import type { VNode } from 'preact';
import { MOST_COUNTED, MOST_WORKSPACES, type WorkspaceContents } from '../../domain/accounts/index.js';
import { ConfirmField, Field, Hidden, inBytes, Time } from '../layout/index.js';
import type { AccountPageProps } from './account-page-props.js';

export function WorkspacesSection(props: AccountPageProps): VNode {
  const { listed } = props.overview;
  return (
    <section aria-labelledby="workspaces">
      <h2 id="workspaces">Workspaces</h2>
      {listed.length === 0 && <p class="hint">There is no workspace yet. An app makes one.</p>}
      {listed.length === MOST_WORKSPACES && (
        <p class="hint">Showing the newest {MOST_WORKSPACES}. There may be more.</p>
      )}
      <ul class="things">
        {listed.map((workspace) => (
          <li key={workspace.id} class="stacked">
            <WorkspaceFacts workspace={workspace} />
            <RenameForm {...props} workspace={workspace} />
            <DeletionForm {...props} workspace={workspace} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function WorkspaceFacts({ workspace }: { readonly workspace: WorkspaceContents }): VNode {
  const { name, files, documentBytes, versions, assets, assetBytes, createdAt, changedAt } = workspace;
  return (
    <div>
      <p>{name}</p>
      <p class="hint">
        {counted(files, 'file', files)} and {counted(versions, 'version')} in {inBytes(documentBytes)},{' '}
        {counted(assets, 'attachment')}
        {assets > 0 && ` in ${assets > MOST_COUNTED ? 'over ' : ''}${inBytes(assetBytes)}`},{' '}
        {changedAt ? 'last changed ' : 'made '}
        <Time at={changedAt ?? createdAt} />
      </p>
    </div>
  );
}

const NUMBER = new Intl.NumberFormat('en-GB');

/** For example `1 file`, `12 versions`, `over 1,000 versions`. */
function counted(count: number, thing: string, most = MOST_COUNTED): string {
  const text = count > most ? `over ${NUMBER.format(most)}` : NUMBER.format(count);
  return `${text} ${thing}${count === 1 ? '' : 's'}`;
}

interface WorkspaceFormProps extends AccountPageProps {
  readonly workspace: WorkspaceContents;
}

function RenameForm({ csrfToken, workspace, failedWorkspaceName }: WorkspaceFormProps): VNode {
  const { id, name } = workspace;
  const failed = failedWorkspaceName?.id === id ? failedWorkspaceName : undefined;
  return (
    <details open={failed !== undefined}>
      <summary aria-label={`Rename ${name}`}>Rename</summary>
      <form method="post" action="/account/workspaces/rename" aria-label={`Rename ${name}`}>
        <Hidden fields={{ csrf_token: csrfToken, id }} />
        <Field
          id={`workspace-name-${id}`}
          name="name"
          label="Name"
          type="text"
          autocomplete="off"
          value={failed?.value ?? name}
          fault={failed?.fault}
          isFocused={failed !== undefined}
        />
        <button type="submit">Rename this workspace</button>
      </form>
    </details>
  );
}

function DeletionForm(props: WorkspaceFormProps): VNode {
  const { csrfToken, workspace, needsConfirmation, failedWorkspaceDeletion } = props;
  const { id, name } = workspace;
  const failed = failedWorkspaceDeletion?.id === id ? failedWorkspaceDeletion : undefined;
  return (
    <details open={failed !== undefined}>
      <summary aria-label={`Delete ${name}`}>Delete</summary>
      <form method="post" action="/account/workspaces/delete" aria-label={`Delete ${name}`}>
        <Hidden fields={{ csrf_token: csrfToken, id }} />
        <p class="hint">
          Deletes the workspace with all files, versions, checkpoints and attachments, for every device. This
          cannot be undone.
        </p>
        <Field
          id={`workspace-${id}`}
          name="confirm_name"
          label={`Type its name: ${name}`}
          type="text"
          autocomplete="off"
          value={failed?.value ?? ''}
          fault={failed?.faults.name}
          isFocused={failed?.faults.name !== undefined}
        />
        {needsConfirmation && (
          <ConfirmField id={`workspace-password-${id}`} fault={failed?.faults.password} />
        )}
        <button type="submit" class="danger">
          Delete this workspace
        </button>
      </form>
    </details>
  );
}
