import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccountsModule } from '../../domain/accounts/index.js';
import { AssetsModule } from '../../domain/assets/index.js';
import { AuthModule } from '../../domain/auth/index.js';
import { BillingModule } from '../../domain/billing/index.js';
import { FilesModule } from '../../domain/files/index.js';
import { ReadinessModule } from '../../platform/readiness/index.js';
import { PagesModule } from '../layout/index.js';
import { AccessActions } from './access-actions.js';
import { AccountActions } from './account-actions.js';
import { AccountPages } from './account-pages.js';
import { AccountsController } from './accounts.controller.js';
import { AdminDoor } from './admin-door.js';
import { AuditController } from './audit.controller.js';
import { DoctorRun } from './doctor-run.entity.js';
import { DoctorRuns } from './doctor-runs.js';
import { InvitationsController } from './invitations.controller.js';
import { RecoveryActions } from './recovery-actions.js';
import { ServiceController } from './service.controller.js';
import { ServiceStatusOverview } from './service-status.js';

/** The pages for administrators, at /admin. */
@Module({
  imports: [
    AccountsModule,
    AssetsModule,
    AuthModule,
    BillingModule,
    FilesModule,
    ReadinessModule,
    PagesModule,
    TypeOrmModule.forFeature([DoctorRun]),
  ],
  controllers: [AccountsController, InvitationsController, ServiceController, AuditController],
  providers: [
    AccessActions,
    AccountActions,
    AccountPages,
    AdminDoor,
    DoctorRuns,
    RecoveryActions,
    ServiceStatusOverview,
  ],
})
export class AdminPagesModule {}
