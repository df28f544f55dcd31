export { ChangePublisher } from './change-publisher.js';
export { DocumentQuota, type DocumentUsage, type WorkspaceUsage } from './document-quota.js';
export {
  CONTENT_HASH,
  contentHashesIn,
  DeviceId,
  ENCRYPTED_PATH,
  ENCRYPTED_PATH_RULE,
  type Precondition,
} from './file-headers.js';
export { UPLOAD_FUNCTIONS } from './upload-functions.js';
export { COMMIT_BYTES, COMMIT_UPLOADS } from './upload-lines.js';
export { type FileRow, lockedFilesAt, lockLog, logDeletions } from './change-log.js';
export { Files, type ListedFile, type Upload, type Uploaded } from './files.service.js';
export { FilesModule } from './files.module.js';
export { countThinnable, prepareThinning, type Thinned, thinVersions, type VersionIds } from './thinning.js';
export { QUOTA_EXCEEDED } from './files.docs.js';
export { VersionEntity } from './version.entity.js';
export { type Restored, type Version, type VersionContent, Versions } from './versions.service.js';
