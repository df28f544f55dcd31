export type { Asset, Assets } from './assets.js';
export type { DownloadManyOptions, OpenOutcome } from './batch-download.js';
export type { UploadOutcome } from './batch-upload.js';
export type { RemoteFile } from './checks.js';
export type { Download, DownloadOutcome } from './download-maps.js';
export { ContentMismatch, DownloadFailed, NeedsBootstrap } from './errors.js';
export type {
  Checkpoint,
  CheckpointKind,
  CheckpointSummary,
  History,
  RestoreManifest,
  TrashedFile,
  Usage,
  Version,
} from './history.js';
export type { Deletion, Log, PulledPage, PushConflict, RemoteChange, SnapshotPage } from './log.js';
export { inLanes } from './lanes.js';
export { type Failed, failureOf } from './outcomes.js';
export type { Downloaded, OpenedDownload, Transfers, Upload, Uploaded } from './transfers.js';
export { Workspace } from './workspace.js';
