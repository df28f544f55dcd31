import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { AuthenticationGuard } from './authentication.guard.js';
import { GeneralLimit } from './general-limit.js';
import { RateLimitGuard, RequestsAtOnce } from './rate-limit.guard.js';
import { RouteAccessCheck } from './route-access-check.js';
import { ScopeGuard } from './scope.guard.js';
import { WorkspaceAccess } from './workspace-access.js';
import { WorkspaceAccessGuard } from './workspace-access.guard.js';

const GUARDS = [AuthenticationGuard, RateLimitGuard, ScopeGuard, WorkspaceAccessGuard];

/** Access control. The order of the guards is in `app.module.ts`. */
@Module({
  imports: [DiscoveryModule],
  providers: [...GUARDS, RouteAccessCheck, GeneralLimit, RequestsAtOnce, WorkspaceAccess],
  exports: [...GUARDS, GeneralLimit, WorkspaceAccess],
})
export class AccessModule {}
