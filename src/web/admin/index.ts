import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccountsModule } from '../../domain/accounts/index.js';
import { AssetsModule } from '../../domain/assets/index.js';
import { AuthModule } from '../../domain/auth/index.js';
import { BillingModule } from '../../domain/billing/index.js';
import { FilesModule } from '../../domain/files/index.js';
import { ReadinessModule } from '../../platform/readiness.js';
import { PagesModule } from '../layout/index.js';
import { AccessActions, AccountActions, AccountPages, RecoveryActions } from './account-actions.js';
import { AccountsController } from './accounts.js';
import { AdminDoor } from './admin-door.js';
import { AuditController } from './audit.js';
import { DoctorRun, DoctorRuns } from './doctor-runs.js';
import { InvitationsController } from './invitations.js';
import { ServiceController, ServiceStatusOverview } from './service.js';

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
