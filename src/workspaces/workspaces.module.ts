import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { NightlyJobs } from '../platform/jobs/index.js';
import { Queues } from '../platform/limits/index.js';
import { BillingModule } from '../billing/index.js';
import { StandingGuard } from './standing.guard.js';
import { Standings } from './standings.js';
import { WorkspaceDeletion } from './workspace-deletion.js';
import { WorkspaceEntity } from './workspace.entity.js';
import { WorkspacePurge } from './workspace-purge.js';
import { WorkspacesController } from './workspaces.controller.js';
import { Workspaces } from './workspaces.service.js';

@Module({
  imports: [BillingModule, TypeOrmModule.forFeature([WorkspaceEntity])],
  controllers: [WorkspacesController],
  providers: [StandingGuard, Standings, WorkspaceDeletion, WorkspacePurge, Workspaces],
  exports: [StandingGuard, Standings, WorkspaceDeletion, WorkspacePurge, Workspaces],
})
export class WorkspacesModule {
  constructor(jobs: NightlyJobs, purge: WorkspacePurge, queues: Queues) {
    queues.watch('deleted_workspaces', () => purge.queued);
    jobs.add('workspaces', () => purge.finish());
  }
}
