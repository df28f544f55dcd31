import type { Session } from '../api/index.js';
import { Assets } from './assets.js';
import { BatchDownloads, type DownloadManyOptions, type OpenOutcome } from './batch-download.js';
import type { Download, DownloadOutcome } from './download-maps.js';
import { BatchUploads, type UploadOutcome } from './batch-upload.js';
import { History } from './history.js';
import { Log } from './log.js';
import { Transfers, type Upload } from './transfers.js';

const DEVICE_ID = /^[\x21-\x7e]{1,128}$/;

/** One workspace as seen by one device: everything that is stored in it, still encrypted. */
export class Workspace {
  /** The change log: current files and changes. */
  readonly log: Log;
  /** Single files. */
  readonly files: Transfers;
  /** Versions, checkpoints, the trash. */
  readonly history: History;
  /** Images and other attachments, outside the log. */
  readonly assets: Assets;
  private readonly uploads: BatchUploads;
  private readonly downloads: BatchDownloads;

  /**
   * @param deviceId 1 to 128 visible ASCII characters, stable for this device: it is not notified of its own changes
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
   * Uploads many files, and yields the result of each, in any order. A failed one does not stop the others.
   * @throws errors that are not about a single file: no access, no subscription, no network
   */
  uploadMany<U extends Upload>(
    uploads: Iterable<U> | AsyncIterable<U>,
    signal?: AbortSignal,
  ): AsyncGenerator<UploadOutcome<U>, void> {
    return this.uploads.run(uploads, signal);
  }

  /**
   * Downloads many files, and yields the result of each, in any order. Every content has been checked against its hash. A
   * failed one does not stop the others.
   * @throws errors that are not about a single file: no access, no network
   */
  downloadMany<D extends Download>(
    downloads: Iterable<D> | AsyncIterable<D>,
    options?: DownloadManyOptions,
  ): AsyncGenerator<DownloadOutcome<D>, void> {
    return this.downloads.run(downloads, options);
  }

  /**
   * Opens one content as a stream, for contents that are too large for memory.
   * @throws errors that are not about a single file, as `downloadMany`; the chunks throw them too
   */
  openDownload(encryptedPath: string, signal?: AbortSignal): Promise<OpenOutcome> {
    return this.downloads.open(encryptedPath, signal);
  }
}
