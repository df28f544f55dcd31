export { CurrentWorkspace, type WorkspaceRef } from './current-workspace.js';
export { type DeletedWorkspace } from './deleted-in-turn.js';
export {
  AccessCheckedInStatement,
  NAMED_WORKSPACE,
  NamedWorkspace,
  OWNED_WORKSPACE,
  OwnedWorkspace,
} from './owned-workspace.js';
export { StandingGuard } from './standing.guard.js';
export { openTo } from './standing.queries.js';
export { accessKey, type Caller, callerKey, Standings, WorkspaceClosed } from './standings.js';
export { WorkspaceDeletion } from './workspace-deletion.js';
export { WorkspaceEntity } from './workspace.entity.js';
export { WorkspacePurge } from './workspace-purge.js';
export { Workspaces } from './workspaces.service.js';
export { WorkspacesOfUser } from './workspaces-of-user.js';
export { WorkspacesModule } from './workspaces.module.js';
export { ASSETS, CHANGES, type Committed, type LoggedChange, WORKSPACE_DELETED } from './topics.js';
