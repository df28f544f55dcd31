import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/index.js';
import { Database } from '../platform/database/index.js';
import { Doctor } from '../platform/doctor/index.js';
import { WorkspacePurge, WorkspacesModule } from '../workspaces/index.js';
import { ChangePublisher } from './change-publisher.js';
import { DocumentQuota } from './document-quota.js';
import { Download } from './download.js';
import { FilesController } from './files.controller.js';
import { fileStatements } from './files.queries.js';
import { Files } from './files.service.js';
import { FileContentLoader } from './file-content-loader.js';
import { GroupCommitQueue } from './group-commit-queue.js';
import { UploadAdmission } from './upload-admission.js';
import { UsageCheck } from './usage-check.js';
import { VersionsController } from './versions.controller.js';
import { Versions } from './versions.service.js';

const PURGE_BATCH = 1000;

@Module({
  imports: [BillingModule, WorkspacesModule],
  controllers: [FilesController, VersionsController],
  providers: [
    ChangePublisher,
    DocumentQuota,
    Download,
    Files,
    FileContentLoader,
    GroupCommitQueue,
    UploadAdmission,
    UsageCheck,
    Versions,
  ],
  exports: [ChangePublisher, DocumentQuota, Download, Files, Versions],
})
export class FilesModule {
  constructor(purge: WorkspacePurge, database: Database, doctor: Doctor, usage: UsageCheck) {
    doctor.addCheck((examination) => usage.drift(examination));
    for (const step of [
      fileStatements.purgeChanges,
      fileStatements.purgeVersions,
      fileStatements.purgeFiles,
    ]) {
      purge.addStep(async (workspaceId) => (await database.run(step, [workspaceId, PURGE_BATCH])).length);
    }
  }
}
