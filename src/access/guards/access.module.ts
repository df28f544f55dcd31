import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { AuthModule } from '../../auth/index.js';
import { BillingModule } from '../../billing/index.js';
import { AuthenticationGuard } from './authentication.guard.js';
import { GeneralLimit } from './general-limit.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { RequestsAtOnce } from './requests-at-once.js';
import { AccessCheck } from './route-access-check.js';
import { ScopeGuard } from './scope.guard.js';
import { Standings } from './workspace-access.js';
import { StandingGuard } from './workspace-access.guard.js';

const GUARDS = [AuthenticationGuard, RateLimitGuard, ScopeGuard, StandingGuard];

/** Whatever decides who may. The order of the guards is in `app.module.ts`. */
@Module({
  imports: [AuthModule, BillingModule, DiscoveryModule],
  providers: [...GUARDS, AccessCheck, GeneralLimit, RequestsAtOnce, Standings],
  exports: [...GUARDS, GeneralLimit, Standings],
})
export class AccessModule {}
