import { Module } from '@nestjs/common';
import { DevicesModule } from '../devices/index.js';
import { FilesModule } from '../files/index.js';
import { WorkspacesModule } from '../workspaces/index.js';
import { ChangeLogReader, Pages } from './pages.service.js';
import { Push } from './push.service.js';
import { SyncController } from './sync.controller.js';
import { TrashController } from './trash.controller.js';

export { clampTextLimit } from './sync.dto.js';
export { type Change, ChangeLogReader } from './pages.service.js';

@Module({
  imports: [DevicesModule, FilesModule, WorkspacesModule],
  controllers: [SyncController, TrashController],
  providers: [Pages, Push, ChangeLogReader],
  exports: [ChangeLogReader],
})
export class SyncModule {}
