export { ChangePublisher } from './change-publisher.js';
export { DocumentQuota, type DocumentUsage, type WorkspaceUsage } from './document-quota.js';
export { CONTENT_HASH, contentHashesIn, ENCRYPTED_PATH } from './file-headers.js';
export { type FileRow, lockedFilesAt, lockLog, logDeletions } from './change-log.js';
export { Files, type ListedFile } from './files.service.js';
export { FilesModule } from './files.module.js';
export { countThinnable, prepareThinning, type Thinned, thinVersions, type VersionIds } from './thinning.js';
export { QUOTA_EXCEEDED } from './files.docs.js';
export { type Restored, type Version, type VersionContent, Versions } from './versions.service.js';
