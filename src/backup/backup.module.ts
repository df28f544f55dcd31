import { Module } from '@nestjs/common';
import { WorkspacesModule } from '../workspaces/index.js';
import { Backups } from './backups.js';
import { BlobFiles } from './blob-files.js';

@Module({ imports: [WorkspacesModule], providers: [Backups, BlobFiles], exports: [Backups] })
export class BackupModule {}
