import { Module } from '@nestjs/common';
import { Database } from '../platform/database/index.js';
import { WorkspacePurge, WorkspacesModule } from '../workspaces/index.js';
import { Announcements } from './announcements.js';
import { Download } from './download.js';
import { FilesController } from './files.controller.js';
import { fileStatements } from './files.queries.js';
import { Files } from './files.service.js';
import { Heads } from './heads.js';
import { PutQueue } from './put-queue.js';
import { VersionsController } from './versions.controller.js';
import { Versions } from './versions.service.js';

const PURGE_BATCH = 1000;

@Module({
  imports: [WorkspacesModule],
  controllers: [FilesController, VersionsController],
  providers: [Announcements, Download, Files, Heads, PutQueue, Versions],
  exports: [Announcements, Download, Files, Versions],
})
export class FilesModule {
  constructor(purge: WorkspacePurge, database: Database) {
    for (const step of [
      fileStatements.purgeChanges,
      fileStatements.purgeVersions,
      fileStatements.purgeFiles,
    ]) {
      purge.addStep(async (workspaceId) => (await database.run(step, [workspaceId, PURGE_BATCH])).length);
    }
  }
}
