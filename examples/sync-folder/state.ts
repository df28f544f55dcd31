import { randomBytes } from 'node:crypto';
import { loadJson, saveJson } from './json-file.js';
import type { LocalFile } from './walk.js';

/** The state of one path that device and server last agreed on. */
export interface KnownFile {
  /** SHA-256 of the plaintext: tells whether the local file was changed since */
  readonly plainHash: string;
  /** SHA-256 of the envelope: tells whether the server's file was changed since */
  readonly contentHash: string;
  readonly version: number;
  /**
   * The local file's metadata, so that an unchanged file need not be read. A file moved into the place of another
   * keeps its own size and mtime, which may equal the old ones; its ctime and inode number differ on most file
   * systems.
   */
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
}

/** Whether the metadata shows that the file is unchanged since the last sync. */
export function isUntouched(local: LocalFile, known: KnownFile): boolean {
  return (['size', 'mtimeMs', 'ctimeMs', 'ino'] as const).every((name) => local[name] === known[name]);
}

interface Kept {
  readonly workspaceId: string;
  readonly deviceId: string;
  readonly cursor: number | null;
  readonly files: Record<string, KnownFile>;
}

const SAVE_EVERY_MS = 2_000;

/**
 * The persistent state of a device. It is written after the changes that it records, so a crash leaves it outdated,
 * never wrong: unknown files are compared again. Losing it costs time and brings back files that were deleted since,
 * but loses none.
 */
export class DeviceState {
  /** The folder contains all server changes up to this cursor. Undefined: it contains none, start from the snapshot. */
  cursor: number | undefined;
  /** by plaintext path */
  readonly files: Map<string, KnownFile>;
  private savedAt = Date.now();

  private constructor(
    private readonly file: string,
    readonly workspaceId: string,
    readonly deviceId: string,
    kept?: Kept,
  ) {
    this.cursor = kept?.cursor ?? undefined;
    this.files = new Map(Object.entries(kept?.files ?? {}));
  }

  /** Loads the state from `file`; an empty one when there is none, or when it belongs to another workspace. */
  static async open(file: string, workspaceId: string, deviceName: string): Promise<DeviceState> {
    const kept = await loadJson<Kept>(file);
    if (kept?.workspaceId === workspaceId) return new DeviceState(file, workspaceId, kept.deviceId, kept);
    return new DeviceState(file, workspaceId, `${deviceName}-${randomBytes(4).toString('hex')}`);
  }

  /** Every file is compared again, and none counts as deleted. */
  forget(): void {
    this.cursor = undefined;
    this.files.clear();
  }

  async save(): Promise<void> {
    this.savedAt = Date.now();
    const { workspaceId, deviceId, cursor } = this;
    const kept: Kept = {
      workspaceId,
      deviceId,
      cursor: cursor ?? null,
      files: Object.fromEntries(this.files),
    };
    await saveJson(this.file, kept);
  }

  /** Called after each transfer, so that a crash during a long sync loses only seconds of work. */
  async saveNowAndThen(): Promise<void> {
    if (Date.now() - this.savedAt > SAVE_EVERY_MS) await this.save();
  }
}
