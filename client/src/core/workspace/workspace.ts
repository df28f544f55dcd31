import type { Session } from '../api/index.js';
import { Assets } from './assets.js';
import { BatchDownloads, type DownloadManyOptions, type OpenOutcome } from './batch-download.js';
import type { Download, DownloadOutcome } from './download-maps.js';
import { BatchUploads, type UploadOutcome } from './batch-upload.js';
import { History } from './history.js';
import { Log } from './log.js';
import { Transfers, type Upload } from './transfers.js';

const DEVICE_ID = /^[\x21-\x7e]{1,128}$/;

/** One workspace, seen by one device: everything that is stored in it, still encrypted. */
export class Workspace {
  /** The change log: what is there, and what has changed. */
  readonly log: Log;
  /** Single files. */
  readonly files: Transfers;
  /** Versions, checkpoints, the trash. */
  readonly history: History;
  /** Images and other attachments, beside the log. */
  readonly assets: Assets;
  private readonly uploads: BatchUploads;
  private readonly downloads: BatchDownloads;

  /**
   * @param deviceId 1 to 128 visible ASCII characters that this device keeps: its own changes are not announced to it
   * @throws RangeError for another device id
   */
  constructor(
    readonly session: Session,
    readonly id: string,
    readonly deviceId: string,
  ) {
    if (!DEVICE_ID.test(deviceId)) throw new RangeError('a device id is 1 to 128 visible ASCII characters');
    this.log = new Log(session, id, deviceId);
    this.files = new Transfers(session, id, deviceId);
    this.history = new History(session, id, deviceId);
    this.assets = new Assets(session, id);
    this.uploads = new BatchUploads(session, id, deviceId, this.files, this.log);
    this.downloads = new BatchDownloads(session, id, this.files, this.log);
  }

  /**
   * Uploads many files, and tells of each what became of it, in any order. One that fails leaves the others.
   * @throws what does not concern single files: no access, no subscription, no network
   */
  uploadMany<U extends Upload>(
    uploads: Iterable<U> | AsyncIterable<U>,
    signal?: AbortSignal,
  ): AsyncGenerator<UploadOutcome<U>, void> {
    return this.uploads.run(uploads, signal);
  }

  /**
   * Downloads many files, and tells of each what became of it, in any order. Every content has been checked against its
   * hash. One that fails leaves the others.
   * @throws what does not concern single files: no access, no network
   */
  downloadMany<D extends Download>(
    downloads: Iterable<D> | AsyncIterable<D>,
    options?: DownloadManyOptions,
  ): AsyncGenerator<DownloadOutcome<D>, void> {
    return this.downloads.run(downloads, options);
  }

  /**
   * Opens one content as a stream, for what is too large to be held in memory.
   * @throws what does not concern single files, as `downloadMany`; so do the chunks
   */
  openDownload(encryptedPath: string, signal?: AbortSignal): Promise<OpenOutcome> {
    return this.downloads.open(encryptedPath, signal);
  }
}
