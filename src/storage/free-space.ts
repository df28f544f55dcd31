import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { statfs } from 'node:fs/promises';
import { Configuration } from '../config/index.js';
import { logToCome } from '../platform/database/index.js';
import { ServiceUnavailable } from '../platform/http/index.js';
import { Log } from '../platform/log/index.js';
import { type Counter, Metrics } from '../platform/metrics/index.js';
import { BlobStores } from './blob-stores.js';

/** Space of a file system, in bytes. */
interface DiskSpace {
  readonly total: number;
  /** What this process may still write; undefined where the file system tells no size: such a one is not full. */
  readonly free: number | undefined;
}

/** Space of the file system that `path` is on. @throws the error of the file system */
export async function diskSpace(path: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(path);
  return { total: blocks * bsize, free: blocks > 0 ? bavail * bsize : undefined };
}

const MIB = 1024 ** 2;
const DEFAULT_RESERVE = { atMost: 1024 * MIB, part: 1 / 20 };

const LOOK_EVERY_MS = 2_000;
/** A refusal rests on a look that is no older. */
const FRESH_FOR_MS = 250;
const RETRY_SECONDS = 60;

/** Overhead of an upload on the disk: rows, entries of indexes, names of files, part of a block. */
const ROWS_BYTES = 32 * 1024;
/** For the tables, beside what the log of the embedded database may still take. */
const SLACK_BYTES = 16 * MIB;

/**
 * To be called with the bytes of a body as they come. What it returns is to be awaited before they are used: then the last look
 * is too old to tell whether there is room. @throws NoRoom, and so does that
 */
export type Count = (bytes: number) => Promise<void> | undefined;

/** The disk has no more than its reserve. Unlike other 503s this may last for days. */
export class NoRoom extends ServiceUnavailable {
  constructor() {
    super('the service has no room for uploads', RETRY_SECONDS);
  }
}

/**
 * The reserve on the disk of DATA_DIR that uploads leave alone, so that the database goes on, and reading and deletion with
 * it. A look at the disk is a moment old, so what has come since counts as taken. What goes into rows counts until a look that
 * begins after its commit; of a larger upload, whose bytes are on the disk as they come, that much for what is on its way there.
 */
@Injectable()
export class FreeSpace implements OnModuleInit {
  private readonly isGuarded: boolean;
  private readonly hasStore: boolean;
  /** Bytes that one upload may take in rows. */
  private readonly mostInRows: number;
  private readonly refusals: Counter;

  /** By the last look; undefined when the file system tells nothing. */
  private free: number | undefined;
  private reserve = 0;
  private lookedAt = 0;
  private looking: Promise<void> | undefined;
  private underWay = 0;
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
      'Uploads and checkpoints that were refused because the disk of DATA_DIR has no more than its reserve';
    this.refusals = metrics.counter('cloud_sync_disk_reserve_refusals_total', refused);
    const help = 'Free space on the disk of DATA_DIR that uploads leave alone; 0: none is kept';
    metrics.gauge('cloud_sync_disk_reserve_bytes', help, [], () => [{ value: this.reserve }]);
  }

  /** Bytes of uploads under way that may not be on the disk yet. */
  get takenBytes(): number {
    return this.underWay;
  }

  async onModuleInit(): Promise<void> {
    await this.look();
  }

  /** One look for all who ask at once. */
  @Interval(LOOK_EVERY_MS)
  look(): Promise<void> {
    this.looking ??= this.lookNow().finally(() => (this.looking = undefined));
    return this.looking;
  }

  /**
   * Takes in what a client wants kept: to be called before its body is read, and to end when it is committed.
   * @throws NoRoom at once when the reserve is reached, also for what has no bytes, as it makes rows; and what `use` throws
   */
  async during<T>(use: (count: Count) => Promise<T>): Promise<T> {
    if (!this.isGuarded) return use(() => undefined);
    let taken = 0;
    const count: Count = (bytes) => {
      const inRows = Math.min(bytes, this.mostInRows - taken);
      taken += inRows;
      this.underWay += inRows;
      if (this.hasStore) this.sinceLook += bytes - inRows;
      return this.hasRoom ? undefined : this.lookAgain();
    };
    try {
      await count(ROWS_BYTES);
      return await use(count);
    } finally {
      this.underWay -= taken;
      this.sinceLook += taken;
    }
  }

  /** Nothing is let through meanwhile: by the last look there is no room. @throws NoRoom */
  private async lookAgain(): Promise<void> {
    if (!this.isFresh) await this.look();
    if (!this.hasRoom) throw this.refused();
  }

  private get hasRoom(): boolean {
    return this.free === undefined || this.free - this.underWay - this.sinceLook >= this.reserve;
  }

  private get isFresh(): boolean {
    return performance.now() - this.lookedAt <= FRESH_FOR_MS;
  }

  private refused(): NoRoom {
    this.refusals.add();
    this.tell(true);
    return new NoRoom();
  }

  private tell(isFull: boolean): void {
    if (this.isTold === isFull) return;
    this.isTold = isFull;
    const facts = { freeBytes: this.free, reserveBytes: this.reserve };
    if (isFull)
      this.log.error(facts, 'the disk of DATA_DIR has no more than its reserve: uploads are refused');
    else this.log.info(facts, 'uploads are taken again');
  }

  private async lookNow(): Promise<void> {
    if (!this.isGuarded) return;
    const { dataDir, databaseUrl, minFreeBytes } = this.configuration;
    const before = this.sinceLook;
    try {
      const { total, free } = await diskSpace(dataDir);
      const { atMost, part } = DEFAULT_RESERVE;
      const log = databaseUrl === undefined ? (await logToCome(dataDir, total)) + SLACK_BYTES : 0;
      this.reserve = Math.max(minFreeBytes ?? Math.min(atMost, Math.floor(total * part)), log);
      this.free = free;
    } catch (err) {
      this.free = undefined; // a disk that does not answer will not take the upload either, and says so
      this.log.warn({ err }, 'the free space of DATA_DIR cannot be read');
    }
    this.sinceLook -= before;
    this.lookedAt = performance.now();
    if (this.hasRoom) this.tell(false);
  }
}
