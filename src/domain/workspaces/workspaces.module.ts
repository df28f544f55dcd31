import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccessModule } from '../../access/index.js';
import { AuthModule } from '../auth/index.js';
import { NightlyJobs } from '../../platform/jobs/index.js';
import { Queues } from '../../platform/limits/index.js';
import { BillingModule } from '../billing/index.js';
import { WorkspaceDeletion } from './workspace-deletion.js';
import { WorkspaceEntity } from './workspace.entity.js';
import { WorkspacePurge } from './workspace-purge.js';
import { WorkspacesOfUser } from './workspaces-of-user.js';
import { WorkspacesController } from './workspaces.controller.js';
import { Workspaces } from './workspaces.service.js';

@Module({
  imports: [AccessModule, AuthModule, BillingModule, TypeOrmModule.forFeature([WorkspaceEntity])],
  controllers: [WorkspacesController],
  providers: [WorkspaceDeletion, WorkspacePurge, Workspaces, WorkspacesOfUser],
  exports: [AccessModule, WorkspaceDeletion, WorkspacePurge, Workspaces, WorkspacesOfUser],
})
export class WorkspacesModule {
  constructor(jobs: NightlyJobs, purge: WorkspacePurge, queues: Queues) {
    queues.watch('deleted_workspaces', () => purge.queued);
    jobs.add('workspaces', () => purge.finish());
  }
}
