import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { OwnershipGuard } from './ownership.guard.js';
import { WorkspaceEntity } from './workspace.entity.js';
import { WorkspacePurge } from './workspace-purge.js';
import { WorkspacesController } from './workspaces.controller.js';
import { Workspaces } from './workspaces.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([WorkspaceEntity])],
  controllers: [WorkspacesController],
  providers: [OwnershipGuard, WorkspacePurge, Workspaces],
  exports: [OwnershipGuard, WorkspacePurge, Workspaces],
})
export class WorkspacesModule {}
