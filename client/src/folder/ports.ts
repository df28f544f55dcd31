/**
 * Ports of the sync engine. The engine imports no file system, network or clock, so that the same code runs on a simulated
 * disk and network.
 */

import type { Traits } from './names.js';

export type Kind = 'file' | 'directory' | 'link' | 'other';

/** The disk's metadata of a name itself: links are not followed. */
export interface Stat {
  readonly kind: Kind;
  readonly size: number;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly ino: bigint;
}

export interface Entry {
  /** exactly as on the disk; undefined when it is not Unicode, and cannot be named */
  readonly name: string | undefined;
  /** a form for display */
  readonly shown: string;
  readonly stat: Stat;
}

/** A path below the folder, segments joined by `/`, spelled as on this disk. The empty string is the folder itself. */
export type DiskPath = string;

/** A content on the same file system, not visible in the folder. */
export type Staged = string;

/**
 * A folder. No operation leaves it or follows a symbolic link, neither as the last segment nor as a parent: a parent that
 * is a link or a file is `in-the-way`. All methods throw DiskError.
 */
export interface Disk {
  /** The naming rules of the disk. */
  traits(): Promise<Traits>;
  /** All entries except the client's own directory. `absent` when the directory does not exist. */
  list(directory: DiskPath): Promise<Entry[]>;
  /** @returns undefined when there is no entry. A disk that folds case answers for every spelling. */
  stat(path: DiskPath): Promise<Stat | undefined>;
  /**
   * The content of the regular file that `expected` describes. `changed` at the start when it is another file, and at the
   * end when it was written to meanwhile.
   */
  read(path: DiskPath, expected: Stat): AsyncIterable<Uint8Array>;
  /** Writes and flushes content. If the stream throws, deletes what was written and passes the error on. */
  stage(content: Uint8Array | AsyncIterable<Uint8Array>): Promise<Staged>;
  /** Reads a staged content. */
  readStaged(staged: Staged): AsyncIterable<Uint8Array>;
  /**
   * Gives staged content a name, creating parents. Replaces exactly the file that `expected` describes, or nothing if that
   * is undefined; otherwise throws `changed` or `exists`, and the staged content stays. Durable after `flush`.
   * @param like a file in the same directory whose permissions it gets, because a replaced content may be private
   */
  place(staged: Staged, path: DiskPath, expected: Stat | undefined, like?: DiskPath): Promise<Stat>;
  discard(staged: Staged): Promise<void>;
  /** Renames exactly the file that `expected` describes to a free name, otherwise `exists`. */
  rename(from: DiskPath, to: DiskPath, expected: Stat): Promise<Stat>;
  /** Removes exactly the file that `expected` describes. */
  remove(path: DiskPath, expected: Stat): Promise<void>;
  /** @returns whether it was an empty directory and is gone now */
  removeDirectory(path: DiskPath): Promise<boolean>;
  /** Makes the entries of these directories durable. */
  flush(directories: Iterable<DiskPath>): Promise<void>;
  /** The marker that identifies the folder; undefined when there is none. */
  readMarker(): Promise<string | undefined>;
  /** Replaces exactly the marker `expected`; `changed` when the folder is another one now. Durable at once. */
  writeMarker(text: string, expected: string | undefined): Promise<void>;
  /** Deletes what a killed run has staged. */
  clearStaging(): Promise<void>;
  /** Free bytes, if the disk tells. */
  freeBytes(): Promise<number | undefined>;
}

export interface RemoteFile {
  readonly encryptedPath: string;
  readonly contentHash: string;
  readonly encryptedSize: number;
  readonly version: number;
}

export interface RemoteChange extends RemoteFile {
  readonly action: 'upsert' | 'delete';
}

export interface Pulled {
  /** in the order of the log */
  readonly changes: readonly RemoteChange[];
  readonly cursor: number;
  readonly hasMore: boolean;
}

export interface SnapshotPage {
  readonly files: readonly RemoteFile[];
  readonly cursor: number;
  /** null on the last page */
  readonly nextPageCursor: string | null;
}

export interface Wanted {
  readonly encryptedPath: string;
  readonly contentHash: string;
  readonly encryptedSize: number;
}

export type Download = { readonly encryptedPath: string } & (
  | { readonly status: 'found'; readonly contentHash: string; readonly envelope: Uint8Array }
  /** deleted since, or not available: a sentence says why */
  | { readonly status: 'missing'; readonly reason: string }
);

/** A content that is too large for memory. */
export type OpenedDownload = { readonly encryptedPath: string } & (
  | {
      readonly status: 'found';
      readonly contentHash: string;
      readonly encryptedSize: number;
      /** Ends with TransferFailed when the content is not available, or does not match its hash. */
      readonly envelope: AsyncIterable<Uint8Array>;
      /** Call it when the envelope is not read. */
      readonly cancel: () => void;
    }
  | { readonly status: 'missing'; readonly reason: string }
);

/** An envelope that is read while it is sent. `open` is called for each attempt, and yields the same bytes. */
export interface EnvelopeSource {
  readonly open: () => AsyncIterable<Uint8Array>;
  readonly length: number;
}

export interface Upload {
  readonly encryptedPath: string;
  readonly contentHash: string;
  readonly envelope: Uint8Array | EnvelopeSource;
  /** the content hash that it replaces; undefined when there must be no live file */
  readonly base: string | undefined;
}

export type Uploaded = { readonly encryptedPath: string } & (
  | { readonly status: 'stored'; readonly contentHash: string; readonly version: number }
  /** the server's version is not `base` */
  | { readonly status: 'overtaken' }
  | { readonly status: 'refused'; readonly reason: string }
);

export interface Deletion {
  readonly encryptedPath: string;
  readonly contentHash: string;
  readonly encryptedSize: number;
}

export interface Pushed {
  readonly accepted: readonly string[];
  /** changed by another device after the base cursor, so not deleted */
  readonly conflicts: readonly string[];
}

/**
 * The server, in terms of encrypted paths and envelopes. Retries transient errors; then throws RemoteUnavailable. Requests
 * without an answer may or may not have been carried out.
 */
export interface Remote {
  /** @throws NeedsBootstrap */
  pull(cursor: number): Promise<Pulled>;
  snapshot(pageCursor: string | undefined): Promise<SnapshotPage>;
  /** Answers each item at most once, in any order; request unanswered items again. */
  downloadMany(items: readonly Wanted[]): AsyncIterable<Download>;
  openDownload(item: Wanted): Promise<OpenedDownload>;
  /** As `downloadMany`, for uploads. */
  uploadMany(items: readonly Upload[]): AsyncIterable<Uploaded>;
  push(baseCursor: number, deletions: readonly Deletion[]): Promise<Pushed>;
}

/** The cryptography of a vault. Paths are in the vault's form: NFC, segments joined by `/`. */
export interface Cipher {
  encryptPath(path: string): Promise<string>;
  /** @throws DoesNotOpen */
  decryptPath(encryptedPath: string): Promise<string>;
  /** @returns an envelope; encrypting the same content twice gives different ones */
  encryptContent(encryptedPath: string, content: Uint8Array): Promise<Uint8Array>;
  /** @throws DoesNotOpen */
  decryptContent(encryptedPath: string, envelope: Uint8Array): Promise<Uint8Array>;
  /** Like `encryptContent`, without holding the content. */
  encryptStream(encryptedPath: string, content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /**
   * Like `decryptContent`. Danger: only the end authenticates the plaintext; do not expose any of it before.
   * @throws DoesNotOpen, at the end at the latest
   */
  decryptStream(encryptedPath: string, envelope: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

export interface Clock {
  /** milliseconds since 1970 */
  now(): number;
  sleep(ms: number): Promise<void>;
}

export interface Random {
  bytes(count: number): Uint8Array;
}

/** A file of lines outside the folder. No other process writes it. */
export interface StateFile {
  /** The whole file; empty when it does not exist. */
  read(): Promise<Uint8Array>;
  /** Cuts off the rest: an incomplete line. */
  truncate(length: number): Promise<void>;
  append(bytes: Uint8Array): Promise<void>;
  /** Makes everything appended so far survive a power failure. */
  sync(): Promise<void>;
  /** Replaces the whole file, atomically and durably. */
  replace(bytes: Uint8Array): Promise<void>;
}
