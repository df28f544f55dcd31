import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccessCheck, AuthModule } from '../auth/index.js';
import { NightlyJobs } from '../platform/jobs/index.js';
import { BillingModule } from '../billing/index.js';
import { OWNED_WORKSPACE } from './owned-workspace.js';
import { StandingGuard } from './standing.guard.js';
import { Standings } from './standings.js';
import { WorkspaceDeletion } from './workspace-deletion.js';
import { WorkspaceEntity } from './workspace.entity.js';
import { WorkspacePurge } from './workspace-purge.js';
import { WorkspacesController } from './workspaces.controller.js';
import { Workspaces } from './workspaces.service.js';

@Module({
  imports: [AuthModule, BillingModule, TypeOrmModule.forFeature([WorkspaceEntity])],
  controllers: [WorkspacesController],
  providers: [StandingGuard, Standings, WorkspaceDeletion, WorkspacePurge, Workspaces],
  exports: [StandingGuard, Standings, WorkspaceDeletion, WorkspacePurge, Workspaces],
})
export class WorkspacesModule {
  constructor(access: AccessCheck, jobs: NightlyJobs, purge: WorkspacePurge) {
    access.addWorkspaceMark(OWNED_WORKSPACE); // `StandingGuard` holds bound tokens to it
    jobs.add('workspaces', () => purge.finish());
  }
}
