import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { BillingModule } from '../billing/index.js';
import {
  BEFORE_ALL_IDS,
  Database,
  inKeyOrder,
  type Purged,
  type Statement,
} from '../../platform/database/index.js';
import { Doctor } from '../../platform/doctor/index.js';
import { WorkspaceEntity, WorkspacePurge, WorkspacesModule } from '../workspaces/index.js';
import { ChangeEntity } from './change.entity.js';
import { ChangePublisher } from './change-publisher.js';
import { DocumentQuota } from './document-quota.js';
import { Download } from './download.js';
import { FileEntity } from './file.entity.js';
import { FilesController } from './files.controller.js';
import { fileStatements } from './files.queries.js';
import { Files } from './files.service.js';
import { FileContentLoader } from './file-content-loader.js';
import { GroupCommitQueue } from './group-commit-queue.js';
import { RowsCheck } from './rows-check.js';
import { UploadAdmission } from './upload-admission.js';
import { UploadWriter } from './upload-writer.js';
import { UsageCheck } from './usage-check.js';
import { VersionEntity } from './version.entity.js';
import { VersionsController } from './versions.controller.js';
import { Versions } from './versions.service.js';

const PURGE_BATCH = 1000;

@Module({
  imports: [
    BillingModule,
    WorkspacesModule,
    TypeOrmModule.forFeature([ChangeEntity, FileEntity, VersionEntity, WorkspaceEntity]),
  ],
  controllers: [FilesController, VersionsController],
  providers: [
    ChangePublisher,
    DocumentQuota,
    Download,
    Files,
    FileContentLoader,
    GroupCommitQueue,
    RowsCheck,
    UploadAdmission,
    UploadWriter,
    UsageCheck,
    Versions,
  ],
  exports: [ChangePublisher, DocumentQuota, Download, Files, Versions],
})
export class FilesModule {
  constructor(purge: WorkspacePurge, database: Database, doctor: Doctor, usage: UsageCheck, rows: RowsCheck) {
    doctor.addCheck((examination) => usage.drift(examination));
    doctor.addCheck((examination) => rows.examine(examination));
    const deletes =
      <K extends string | number>(step: Statement) =>
      async (workspaceId: string, above: K): Promise<Purged<K>> => {
        const [purged] = await database.run<Purged<K>>(step, [workspaceId, PURGE_BATCH, above]);
        return purged ?? { removed: 0, last: null };
      };
    purge.addStep(inKeyOrder(0, deletes(fileStatements.purgeChanges)));
    purge.addStep(inKeyOrder(BEFORE_ALL_IDS, deletes(fileStatements.purgeVersions)));
    purge.addStep(inKeyOrder(BEFORE_ALL_IDS, deletes(fileStatements.purgeFiles)));
  }
}
