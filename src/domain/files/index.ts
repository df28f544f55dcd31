import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  BEFORE_ALL_IDS,
  Database,
  inKeyOrder,
  type Purged,
  type Statement,
} from '../../platform/database/index.js';
import { Doctor } from '../../platform/doctor.js';
import { BillingModule } from '../billing/index.js';
import { WorkspaceEntity, WorkspacePurge, WorkspacesModule } from '../workspaces/index.js';
import { ChangePublisher } from './change-log.js';
import { DocumentQuota } from './document-quota.js';
import { Download, FilesController } from './files.controller.js';
import { ChangeEntity, FileEntity, VersionEntity } from './files.entities.js';
import { fileStatements } from './files.queries.js';
import { FileContentLoader, Files } from './files.service.js';
import { GroupCommitQueue } from './group-commit-queue.js';
import { RowsCheck, UsageCheck } from './rows-check.js';
import { UploadAdmission, UploadWriter } from './upload-writer.js';
import { VersionsController } from './versions.controller.js';
import { Versions } from './versions.service.js';

export {
  ChangePublisher,
  type FileRow,
  lockedFilesAt,
  lockLog,
  type LogBounds,
  logDeletions,
} from './change-log.js';
export { DocumentQuota, type DocumentUsage, type WorkspaceUsage } from './document-quota.js';
export {
  CONTENT_HASH,
  contentHashesIn,
  DeviceId,
  ENCRYPTED_PATH,
  ENCRYPTED_PATH_RULE,
  type Precondition,
} from './file-headers.js';
export { UPLOAD_FUNCTIONS } from './upload-writer.js';
export { COMMIT_BYTES, COMMIT_UPLOADS } from './upload-lines.js';
export { Files, type ListedFile, type Upload, type Uploaded } from './files.service.js';
export {
  countThinnable,
  prepareThinning,
  type Restored,
  type Thinned,
  thinVersions,
  type Version,
  type VersionContent,
  type VersionIds,
  Versions,
} from './versions.service.js';
export { QUOTA_EXCEEDED } from './files.docs.js';
export { VersionEntity } from './files.entities.js';

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
