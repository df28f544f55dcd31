export { Announcements } from './announcements.js';
export { CONTENT_HASH, ENCRYPTED_PATH } from './file-headers.js';
export { type FileRow, type LockedLog, lockedFilesAt, lockLog, logDeletions } from './change-log.js';
export { Files, type ListedFile } from './files.service.js';
export { FilesModule } from './files.module.js';
export { type Thinned, thinVersions } from './thinning.js';
