import { randomBytes } from 'node:crypto';
import { loadJson, saveJson } from './json-file.js';
import type { LocalFile } from './walk.js';

/** What device and server agreed on for one path, the last time. */
export interface KnownFile {
  /** SHA-256 of the plaintext: tells whether the local file was changed since */
  readonly plainHash: string;
  /** SHA-256 of the envelope: tells whether the server's file was changed since */
  readonly contentHash: string;
  readonly version: number;
  /**
   * What the local file was like, so that an untouched one need not be read. A file that is moved to where another one was
   * brings its size and mtime along, and both may be as those were: ctime and inode number are not, on most file systems.
   */
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
}

/** Whether the file need not be read to know that it is what was synced last. */
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
 * The memory of a device. It is written after what it tells of, so a crash makes it too old, never wrong: what it does
 * not know is compared again. Losing it costs time, and brings files back that were deleted since; it loses none.
 */
export class DeviceState {
  /** Up to here every change of the server is in the folder. Undefined: nothing is, start from the snapshot. */
  cursor: number | undefined;
  /** by path in plaintext */
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

  /** The state in `file`; an empty one when there is none, or when it is of another workspace. */
  static async open(file: string, workspaceId: string, deviceName: string): Promise<DeviceState> {
    const kept = await loadJson<Kept>(file);
    if (kept?.workspaceId === workspaceId) return new DeviceState(file, workspaceId, kept.deviceId, kept);
    return new DeviceState(file, workspaceId, `${deviceName}-${randomBytes(4).toString('hex')}`);
  }

  /** Everything is compared again, and nothing counts as deleted. */
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

  /** Called after each transfer, so that a crash in a long one costs seconds of work. */
  async saveNowAndThen(): Promise<void> {
    if (Date.now() - this.savedAt > SAVE_EVERY_MS) await this.save();
  }
}
