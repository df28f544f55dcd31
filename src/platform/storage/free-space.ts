import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { statfs } from 'node:fs/promises';
import { type BackupStore, Configuration, type S3Address } from '../config/index.js';
import { remainingWalBytes } from '../database/index.js';
import { NoRoom, type Place } from '../http/index.js';
import { Log } from '../log.js';
import { type Counter, Metrics } from '../metrics.js';
import { BlobStores } from './blob-store.js';
import type { S3Objects } from './s3/s3-objects.js';

/** Space of a file system, in bytes. */
interface DiskSpace {
  readonly total: number;
  /** What this process may still write; undefined if the file system reports no size: such a file system is never full. */
  readonly free: number | undefined;
}

/**
 * Space of the file system that contains `path`.
 * @throws the file system error
 */
export async function diskSpace(path: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(path);
  return { total: blocks * bsize, free: blocks > 0 ? bavail * bsize : undefined };
}

/** A place without limits, for when no space is reserved. */
const NOWHERE: Place = { work: () => undefined, rest: () => undefined };

const MIB = 1024 ** 2;
const DEFAULT_RESERVE = { atMost: 1024 * MIB, part: 1 / 20 };

const LOOK_EVERY_MS = 2_000;
/** Maximum age of a measurement when an upload is refused. */
const FRESH_FOR_MS = 250;

/** Overhead of an upload on disk: rows, index entries, file names, partial blocks. */
const ROWS_BYTES = 32 * 1024;
/** For tables, in addition to what the WAL of the embedded database may still need. */
const SLACK_BYTES = 16 * MIB;

/**
 * Reserves space on the disk of DATA_DIR that uploads must not use, so that the database, reads and deletions keep working. A
 * measurement of the disk is slightly old, so bytes received since then count as used. Bytes for rows count until a measurement
 * that starts after their commit; a chunk of a larger upload counts until one that starts after it was written, that is, after
 * the next chunk was requested. An upload whose client is silent writes nothing, and does not count until it continues.
 */
@Injectable()
export class FreeSpace implements OnModuleInit {
  private readonly isGuarded: boolean;
  private readonly hasStore: boolean;
  /** Maximum number of bytes of one upload that go into rows. */
  private readonly mostInRows: number;
  private readonly refusals: Counter;

  /** Free bytes at the last measurement; undefined when the file system reports none. */
  private free: number | undefined;
  /** Free bytes below which uploads are refused; 0: no reserve. */
  reserveBytes = 0;
  private lookedAt = 0;
  private looking: Promise<void> | undefined;
  /** Bytes of active uploads that may not be on disk yet. */
  takenBytes = 0;
  private sinceLook = 0;
  private isTold = false;

  constructor(
    private readonly configuration: Configuration,
    stores: BlobStores,
    private readonly log: Log,
    metrics: Metrics,
  ) {
    const { minFreeBytes, databaseUrl, inlineBlobBytes } = configuration;
    this.hasStore = stores.main.location === 'disk';
    this.isGuarded = minFreeBytes !== 0 && (databaseUrl === undefined || this.hasStore);
    this.mostInRows = inlineBlobBytes + ROWS_BYTES;
    const refused =
      'Uploads and checkpoints refused because the free space of DATA_DIR has reached its reserve';
    this.refusals = metrics.counter('cloud_sync_disk_reserve_refusals_total', refused);
    const help = 'Free space on the disk of DATA_DIR that uploads must not use; 0: no reserve';
    metrics.gauge('cloud_sync_disk_reserve_bytes', help, [], () => [{ value: this.reserveBytes }]);
  }

  async onModuleInit(): Promise<void> {
    await this.look();
  }

  /** Concurrent callers share one measurement. */
  @Interval(LOOK_EVERY_MS)
  look(): Promise<void> {
    this.looking ??= this.lookNow().finally(() => (this.looking = undefined));
    return this.looking;
  }

  /**
   * Accounts for data to be stored: call this before reading the body; `use` must end after the commit. The place of the body
   * throws NoRoom; when the last measurement shows no room, a new one decides.
   * @throws NoRoom immediately when the reserve is reached, even without a body, because rows are written; and the errors of
   * `use`
   */
  async during<T>(use: (place: Place) => Promise<T>): Promise<T> {
    if (!this.isGuarded) return use(NOWHERE);
    let [taken, counted, arriving] = [0, 0, 0];
    let isOnDisk = false;
    const written = (): void => {
      if (arriving === 0) return;
      this.takenBytes -= arriving;
      this.sinceLook += arriving + (isOnDisk ? 0 : taken);
      arriving = 0;
      isOnDisk = true;
    };
    const place: Place = {
      work: (bytes) => {
        written();
        const inRows = Math.min(bytes, this.mostInRows - taken);
        taken += inRows;
        this.takenBytes += taken - counted;
        counted = taken;
        if (this.hasStore) this.takenBytes += arriving = bytes - inRows;
        return this.hasRoom ? undefined : this.lookAgain();
      },
      rest: () => {
        written();
        this.takenBytes -= counted;
        counted = 0;
      },
    };
    try {
      await place.work(ROWS_BYTES);
      return await use(place);
    } finally {
      this.sinceLook += counted;
      place.rest();
    }
  }

  /**
   * Like `during`, for several uploads whose sizes are known; `use` must end after their commit.
   * @throws NoRoom, and the errors of `use`
   */
  async duringAll<T>(sizes: readonly number[], use: () => Promise<T>): Promise<T> {
    if (!this.isGuarded) return use();
    const all = sizes.reduce((sum, size) => sum + ROWS_BYTES + size, 0);
    const inRows = sizes.reduce((sum, size) => sum + Math.min(ROWS_BYTES + size, this.mostInRows), 0);
    this.takenBytes += inRows;
    if (this.hasStore) this.sinceLook += all - inRows;
    try {
      if (!this.hasRoom) await this.lookAgain();
      return await use();
    } finally {
      this.takenBytes -= inRows;
      this.sinceLook += inRows;
    }
  }

  /**
   * Measures again unless the last measurement is recent; the caller waits for the decision.
   * @throws NoRoom
   */
  private async lookAgain(): Promise<void> {
    if (performance.now() - this.lookedAt > FRESH_FOR_MS) await this.look();
    if (this.hasRoom) return;
    this.refusals.add();
    this.tell(true);
    throw new NoRoom();
  }

  private get hasRoom(): boolean {
    return this.free === undefined || this.free - this.takenBytes - this.sinceLook >= this.reserveBytes;
  }

  private tell(isFull: boolean): void {
    if (this.isTold === isFull) return;
    this.isTold = isFull;
    const facts = { freeBytes: this.free, reserveBytes: this.reserveBytes };
    if (isFull)
      this.log.error(facts, 'the free space of DATA_DIR has reached its reserve: uploads are refused');
    else this.log.info(facts, 'uploads are accepted again');
  }

  private async lookNow(): Promise<void> {
    if (!this.isGuarded) return;
    const { dataDir, databaseUrl, minFreeBytes } = this.configuration;
    const before = this.sinceLook;
    try {
      const { total, free } = await diskSpace(dataDir);
      const { atMost, part } = DEFAULT_RESERVE;
      const log = databaseUrl === undefined ? (await remainingWalBytes(dataDir, total)) + SLACK_BYTES : 0;
      this.reserveBytes = Math.max(minFreeBytes ?? Math.min(atMost, Math.floor(total * part)), log);
      this.free = free;
    } catch (err) {
      this.free = undefined; // the upload itself fails if the disk does
      this.log.warn({ err }, 'the free space of DATA_DIR cannot be read');
    }
    this.sinceLook -= before;
    this.lookedAt = performance.now();
    if (this.hasRoom) this.tell(false);
  }
}

/** The objects below a prefix of a bucket, independent of any database. Sends no request to the store yet. */
export async function openObjects(store: BackupStore, address: S3Address): Promise<S3Objects> {
  // Loaded only if needed: the S3 client is 30 MB.
  const { S3Objects } = await import('./s3/index.js');
  return S3Objects.at(store, address);
}
