import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { WorkspacePurge, WorkspacesModule } from '../index.js';
import { KeySlotsController } from './key-slots.controller.js';
import { KeySlots, StoredKeySlot } from './key-slots.service.js';

export { type KeySlot, type KeySlotList, KeySlots, WRAPPED_KEY } from './key-slots.service.js';

@Module({
  imports: [WorkspacesModule, TypeOrmModule.forFeature([StoredKeySlot])],
  controllers: [KeySlotsController],
  providers: [KeySlots],
  exports: [KeySlots],
})
export class KeySlotsModule {
  constructor(purge: WorkspacePurge, keySlots: KeySlots) {
    purge.addStep((workspaceId) => keySlots.purge(workspaceId));
  }
}
