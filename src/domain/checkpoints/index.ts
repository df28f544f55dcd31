import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { WorkspacePurge, WorkspacesModule } from '../workspaces/index.js';
import { CheckpointsController } from './checkpoints.controller.js';
import { Checkpoints, StoredCheckpoint } from './checkpoints.service.js';
import { Projections } from './projections.js';

export { type Checkpoint, Checkpoints, StoredCheckpoint } from './checkpoints.service.js';
export { CHECKPOINT_FIELDS, COMPACTED, FromCursor, OF_CHECKPOINT } from './checkpoints.controller.js';
export { type ProjectionOf, Projections } from './projections.js';

@Module({
  imports: [WorkspacesModule, TypeOrmModule.forFeature([StoredCheckpoint])],
  controllers: [CheckpointsController],
  providers: [Checkpoints, Projections],
  exports: [Checkpoints, Projections],
})
export class CheckpointsModule {
  constructor(purge: WorkspacePurge, checkpoints: Checkpoints) {
    purge.addStep((workspaceId) => checkpoints.purge(workspaceId));
  }
}
