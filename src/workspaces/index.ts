export {
  CurrentWorkspace,
  NamedWorkspace,
  OwnedWorkspace,
  OwnershipGuard,
  type WorkspaceRef,
} from './ownership.guard.js';
export { WorkspaceEntity } from './workspace.entity.js';
export { WorkspacePurge } from './workspace-purge.js';
export { Workspaces } from './workspaces.service.js';
export { WorkspacesModule } from './workspaces.module.js';
export { ASSETS, CHANGES, WORKSPACE_DELETED } from './topics.js';
