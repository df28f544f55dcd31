import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { AuthenticationGuard } from './authentication.guard.js';
import { GeneralLimit, RateLimitGuard } from './rate-limit.guard.js';
import { RouteAccessCheck, ScopeGuard } from './route-policy.js';
import { WorkspaceAccessGuard } from './workspace-access.guard.js';
import { WorkspaceAccess } from './workspace-access.js';

export {
  accessCondition,
  accessConditionOf,
  accessKey,
  type AccessRequirements,
  callerKey,
  hasRunOut,
  isActive,
  ofOpenWorkspace,
  statusAt,
  WorkspaceAccess,
  WorkspaceClosed,
} from './workspace-access.js';
export * from './route-access.js';
export {
  AccountSuspended,
  AuthenticationGuard,
  BearerAuthenticator,
  bearerIn,
} from './authentication.guard.js';
export { GeneralLimit, RateLimitGuard } from './rate-limit.guard.js';
export { isGranted, ScopeGuard } from './route-policy.js';
export { AccessCheckedInStatement, WorkspaceAccessGuard } from './workspace-access.guard.js';

const GUARDS = [AuthenticationGuard, RateLimitGuard, ScopeGuard, WorkspaceAccessGuard];

/** Access control. The order of the guards is in `app.module.ts`. */
@Module({
  imports: [DiscoveryModule],
  providers: [...GUARDS, RouteAccessCheck, GeneralLimit, WorkspaceAccess],
  exports: [...GUARDS, GeneralLimit, WorkspaceAccess],
})
export class AccessModule {}
