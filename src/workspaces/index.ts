export { type DeletedWorkspace } from './purge-queue.js';
export { WorkspaceCatalogue } from './workspace-catalogue.js';
export { WorkspaceDeletion } from './workspace-deletion.js';
export { WorkspaceEntity } from './workspace.entity.js';
export { WorkspacePurge } from './workspace-purge.js';
export { VerifyPasswordRequest, Workspaces } from './workspaces.service.js';
export { WorkspacesOfUser } from './workspaces-of-user.js';
export { WorkspacesModule } from './workspaces.module.js';
export { ASSETS, CHANGES, type Committed, type LoggedChange, WORKSPACE_DELETED } from './topics.js';
