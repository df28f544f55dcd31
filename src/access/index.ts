export { hasRunOut, isActive, statusAt } from './active-subscription.js';
export * from './route-access.js';
export { accessCondition, accessConditionOf, ofOpenWorkspace } from './access.queries.js';
export { AccessModule } from './access.module.js';
export { AuthenticationGuard, bearerIn } from './authentication.guard.js';
export { AccountSuspended, BearerAuthenticator } from './bearer-authenticator.js';
export { GeneralLimit } from './general-limit.js';
export { RateLimitGuard } from './rate-limit.guard.js';
export { isGranted, ScopeGuard } from './scope.guard.js';
export {
  accessKey,
  type AccessRequirements,
  callerKey,
  WorkspaceAccess,
  WorkspaceClosed,
} from './workspace-access.js';
export { AccessCheckedInStatement } from './workspace-access.filter.js';
export { WorkspaceAccessGuard } from './workspace-access.guard.js';
