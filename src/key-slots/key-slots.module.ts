import { Module } from '@nestjs/common';
import { Database } from '../platform/database/index.js';
import { WorkspacePurge, WorkspacesModule } from '../workspaces/index.js';
import { KeySlotsController } from './key-slots.controller.js';
import { keySlotStatements } from './key-slots.queries.js';
import { KeySlots } from './key-slots.service.js';

@Module({
  imports: [WorkspacesModule],
  controllers: [KeySlotsController],
  providers: [KeySlots],
  exports: [KeySlots],
})
export class KeySlotsModule {
  constructor(purge: WorkspacePurge, database: Database) {
    purge.addStep(async (workspaceId) => (await database.run(keySlotStatements.purge, [workspaceId])).length);
  }
}
