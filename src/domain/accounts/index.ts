export { AccountDeletion } from './account-deletion.js';
export { AccountsModule } from './accounts.module.js';
export { type AccountDetails, Accounts, type ListedAccount, type ListOptions } from './accounts.js';
export { CancellationOutbox } from './cancellation-outbox.js';
export { Invitations, type NewInvitation, type OpenInvitation } from './invitations.js';
export {
  ContentsOfWorkspaces,
  MOST_COUNTED,
  MOST_WORKSPACES,
  type WorkspaceContents,
} from './workspace-contents.js';
