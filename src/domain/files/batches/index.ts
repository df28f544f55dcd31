import { Module } from '@nestjs/common';
import { WorkspacesModule } from '../../workspaces/index.js';
import { FilesModule } from '../index.js';
import { BatchDownloads } from './batch-download.js';
import { BatchSlots, BatchUploads } from './batch-upload.js';
import { BatchesController } from './batches.controller.js';

@Module({
  imports: [FilesModule, WorkspacesModule],
  controllers: [BatchesController],
  providers: [BatchDownloads, BatchSlots, BatchUploads],
})
export class BatchesModule {}
