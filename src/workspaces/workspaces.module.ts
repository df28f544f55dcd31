import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccessCheck, AuthModule } from '../auth/index.js';
import { NightlyJobs } from '../platform/jobs/index.js';
import { Queues } from '../platform/limits/index.js';
import { BillingModule } from '../billing/index.js';
import { OWNED_WORKSPACE } from './owned-workspace.js';
import { StandingGuard } from './standing.guard.js';
import { Standings } from './standings.js';
import { WorkspaceDeletion } from './workspace-deletion.js';
import { WorkspaceEntity } from './workspace.entity.js';
import { WorkspacePurge } from './workspace-purge.js';
import { WorkspacesOfUser } from './workspaces-of-user.js';
import { WorkspacesController } from './workspaces.controller.js';
import { Workspaces } from './workspaces.service.js';

@Module({
  imports: [AuthModule, BillingModule, TypeOrmModule.forFeature([WorkspaceEntity])],
  controllers: [WorkspacesController],
  providers: [StandingGuard, Standings, WorkspaceDeletion, WorkspacePurge, Workspaces, WorkspacesOfUser],
  exports: [StandingGuard, Standings, WorkspaceDeletion, WorkspacePurge, Workspaces, WorkspacesOfUser],
})
export class WorkspacesModule {
  constructor(access: AccessCheck, jobs: NightlyJobs, purge: WorkspacePurge, queues: Queues) {
    access.addWorkspaceMark(OWNED_WORKSPACE); // `StandingGuard` holds bound tokens to it
    queues.watch('deleted_workspaces', () => purge.queued);
    jobs.add('workspaces', () => purge.finish());
  }
}
