import { Module } from '@nestjs/common';
import { Database } from '../platform/database/index.js';
import { WorkspacePurge, WorkspacesModule } from '../workspaces/index.js';
import { CheckpointsController } from './checkpoints.controller.js';
import { checkpointStatements } from './checkpoints.queries.js';
import { Checkpoints } from './checkpoints.service.js';
import { Projections } from './projections.js';

const PURGE_BATCH = 1000;

@Module({
  imports: [WorkspacesModule],
  controllers: [CheckpointsController],
  providers: [Checkpoints, Projections],
  exports: [Checkpoints, Projections],
})
export class CheckpointsModule {
  constructor(purge: WorkspacePurge, database: Database) {
    purge.addStep(
      async (workspaceId) =>
        (await database.run(checkpointStatements.purge, [workspaceId, PURGE_BATCH])).length,
    );
  }
}
