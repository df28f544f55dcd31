export { AccessModule } from './access.module.js';
export { AuthenticationGuard, bearerIn } from './authentication.guard.js';
export { GeneralLimit } from './general-limit.js';
export { RateLimitGuard } from './rate-limit.guard.js';
export { isGranted, ScopeGuard } from './scope.guard.js';
export {
  accessCondition,
  accessConditionOf,
  accessKey,
  type AccessRequirements,
  callerKey,
  ofOpenWorkspace,
  WorkspaceAccess,
  WorkspaceClosed,
} from './workspace-access.js';
export { AccessCheckedInStatement } from './workspace-access.filter.js';
export { WorkspaceAccessGuard } from './workspace-access.guard.js';
