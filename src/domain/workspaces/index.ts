import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccessModule } from '../../access/index.js';
import { NightlyJobs } from '../../platform/jobs/index.js';
import { Queues } from '../../platform/limits/index.js';
import { AuthModule } from '../auth/index.js';
import { BillingModule } from '../billing/index.js';
import { WorkspaceDeletion, WorkspacePurge } from './workspace-purge.js';
import { WorkspaceEntity } from './workspace.entity.js';
import { WorkspacesOfUser } from './workspaces-of-user.js';
import { WorkspacesController } from './workspaces.controller.js';
import { Workspaces } from './workspaces.service.js';

export { type DeletedWorkspace, WorkspaceDeletion, WorkspacePurge } from './workspace-purge.js';
export {
  liveWorkspaceIds,
  type LockedWorkspace,
  lockWorkspaceRow,
  VerifyPasswordRequest,
  Workspaces,
} from './workspaces.service.js';
export { WorkspaceEntity } from './workspace.entity.js';
export { WorkspacesOfUser } from './workspaces-of-user.js';
export { ASSETS, CHANGES, type Committed, type LoggedChange, WORKSPACE_DELETED } from './topics.js';

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
