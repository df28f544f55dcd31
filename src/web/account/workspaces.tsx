import type { VNode } from 'preact';
import { MOST_COUNTED, MOST_WORKSPACES, type WorkspaceContents } from '../../domain/accounts/index.js';
import { Field, inBytes, Time } from '../layout/index.js';
import {
  type AccountPageProps,
  Confirmation,
  enteredIn,
  FoldedForm,
  formAt,
  Truncated,
} from './account-form.js';

export function Workspaces(props: AccountPageProps): VNode {
  const { listed } = props.overview;
  return (
    <>
      {listed.length === 0 && <p class="hint">There is no workspace yet. An app makes one.</p>}
      <Truncated shown={listed.length} most={MOST_WORKSPACES} />
      <ul class="things">
        {listed.map((workspace) => (
          <li key={workspace.id} class="stacked">
            <WorkspaceFacts workspace={workspace} />
            <RenameForm {...props} workspace={workspace} />
            <DeletionForm {...props} workspace={workspace} />
          </li>
        ))}
      </ul>
    </>
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

function RenameForm({ workspace: { id, name }, ...props }: WorkspaceFormProps): VNode {
  const form = formAt(props, '/account/workspaces/rename', id);
  return (
    <FoldedForm {...form} fields={{ id }} summary="Rename" of={name}>
      <Field {...enteredIn(form, 'name', name)} id={`workspace-name-${id}`} label="Name" />
      <button type="submit">Rename this workspace</button>
    </FoldedForm>
  );
}

function DeletionForm({ workspace: { id, name }, ...props }: WorkspaceFormProps): VNode {
  const form = formAt(props, '/account/workspaces/delete', id);
  return (
    <FoldedForm {...form} fields={{ id }} summary="Delete" of={name}>
      <p class="hint">
        Deletes the workspace with all files, versions, checkpoints and attachments, for every device. This
        cannot be undone.
      </p>
      <Field {...enteredIn(form, 'confirm_name')} id={`workspace-${id}`} label={`Type its name: ${name}`} />
      <Confirmation {...form} id={`workspace-password-${id}`} />
      <button type="submit" class="danger">
        Delete this workspace
      </button>
    </FoldedForm>
  );
}
