import { type DynamicModule, Global, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { AccessTokensModule } from './domain/auth/access-tokens/index.js';
import { AccountsModule } from './domain/accounts/index.js';
import { AccountPagesModule } from './web/account/index.js';
import { AdminPagesModule } from './web/admin/index.js';
import { ApiDocsModule } from './web/api-reference/index.js';
import { AssetsModule } from './domain/assets/index.js';
import { AuditModule } from './domain/auth/audit/index.js';
import {
  AuthModule,
  BearerAuthenticationModule,
  type PasswordCost,
  PasswordCostModule,
} from './domain/auth/index.js';
import { AutomationModule } from './domain/automation/index.js';
import { BackupModule } from './operations/backup/index.js';
import { BatchesModule } from './domain/files/batches/index.js';
import { BillingModule } from './domain/billing/index.js';
import { CheckpointsModule } from './domain/checkpoints/index.js';
import { Configuration } from './platform/config/index.js';
import { DevicesModule } from './domain/devices/index.js';
import { ExportModule } from './domain/accounts/export/index.js';
import { FilesModule, UPLOAD_FUNCTIONS } from './domain/files/index.js';
import { SignInPagesModule } from './web/sign-in/index.js';
import { KeySlotsModule } from './domain/workspaces/key-slots/index.js';
import { MailModule } from './platform/mail/index.js';
import { MailPagesModule } from './web/mail-links/index.js';
import { NoticesModule } from './domain/accounts/notices/index.js';
import { PagesModule } from './web/layout/index.js';
import { WebPushModule } from './domain/devices/web-push/index.js';
import {
  AccessModule,
  AuthenticationGuard,
  RateLimitGuard,
  ScopeGuard,
  WorkspaceAccessGuard,
} from './access/index.js';
import { HealthModule } from './operations/health/index.js';
import { BlobsModule } from './platform/storage/index.js';
import { Clock } from './platform/clock.js';
import { DatabaseModule } from './platform/database/index.js';
import { EventsModule } from './platform/events/index.js';
import { HttpModule, InFlightRequests, QueryTextGuard } from './platform/http/index.js';
import { Background, JobsModule } from './platform/jobs/index.js';
import { KillSwitchGuard, KillSwitchModule } from './platform/kill-switch.js';
import { LimitsModule } from './platform/limits/index.js';
import { Log } from './platform/log.js';
import { MetricsModule } from './platform/metrics.js';
import { Outbound } from './platform/outbound.js';
import { RedisModule } from './platform/redis.js';
import { RealtimeModule } from './domain/realtime/index.js';
import { RetentionModule } from './domain/retention/index.js';
import { SyncModule } from './domain/sync/index.js';
import { UsageModule } from './domain/assets/usage/index.js';
import { WorkspacesModule } from './domain/workspaces/index.js';

export interface AppParts {
  readonly configuration: Configuration;
  readonly log: Log;
  readonly clock: Clock;
  readonly inFlight: InFlightRequests;
  /** Defaults to the machine's own network. */
  readonly outbound?: Outbound | undefined;
  /** Defaults to the service's cost; tests use a cheaper one. */
  readonly passwordCost?: PasswordCost | undefined;
  /** Defaults to on. */
  readonly background?: Background;
}

/**
 * The order of the checks: is the service up (503), who is the caller (401), rate limit (429), token scope (403), subscription
 * (402), access to the workspace (404), is the query readable (400).
 */
const GUARDS = [
  KillSwitchGuard,
  AuthenticationGuard,
  RateLimitGuard,
  ScopeGuard,
  WorkspaceAccessGuard,
  QueryTextGuard,
];

/** Provides what exists before the application, to all modules. */
@Global()
@Module({})
class PartsModule {
  static with({ configuration, log, clock, inFlight, outbound, background }: AppParts): DynamicModule {
    const values = [
      { provide: Configuration, useValue: configuration },
      { provide: Log, useValue: log },
      { provide: Clock, useValue: clock },
      { provide: InFlightRequests, useValue: inFlight },
      { provide: Outbound, useValue: outbound },
      { provide: Background, useValue: background },
    ];
    return { module: PartsModule, providers: values, exports: values };
  }
}

/** The only list of modules. */
@Module({})
export class AppModule {
  static with(parts: AppParts): DynamicModule {
    const { outbound = new Outbound(), background = new Background(true) } = parts;
    const { isOn } = background;
    return {
      module: AppModule,
      imports: [
        PartsModule.with({ ...parts, outbound, background }),
        MetricsModule,
        HttpModule,
        DatabaseModule.with([UPLOAD_FUNCTIONS]),
        RedisModule,
        EventsModule,
        KillSwitchModule,
        BlobsModule,
        LimitsModule,
        ScheduleModule.forRoot({ cronJobs: isOn, intervals: isOn, timeouts: isOn }),
        JobsModule,
        PasswordCostModule.with(parts.passwordCost),
        MailModule,
        AuditModule,
        AuthModule,
        BearerAuthenticationModule,
        BillingModule,
        AccessModule,
        WorkspacesModule,
        AccessTokensModule,
        DevicesModule,
        KeySlotsModule,
        WebPushModule,
        FilesModule,
        BatchesModule,
        ExportModule,
        SyncModule,
        CheckpointsModule,
        AssetsModule,
        UsageModule,
        RealtimeModule,
        RetentionModule,
        AccountsModule,
        AccountPagesModule,
        AutomationModule,
        BackupModule,
        PagesModule,
        MailPagesModule,
        NoticesModule,
        SignInPagesModule,
        ApiDocsModule,
        HealthModule,
        AdminPagesModule,
      ],
      providers: GUARDS.map((guard) => ({ provide: APP_GUARD, useExisting: guard })),
    };
  }
}
