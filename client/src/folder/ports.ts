/**
 * What the sync engine needs of the world. The engine imports no file system, no network and no clock, so that the
 * same code runs on a simulated disk and network.
 */

import type { Traits } from './names.js';

export type Kind = 'file' | 'directory' | 'link' | 'other';

/** What the disk says of a name itself: links are not followed. */
export interface Stat {
  readonly kind: Kind;
  readonly size: number;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly ino: bigint;
}

export interface Entry {
  /** exactly as the disk has it; undefined when it is not Unicode, so that it cannot be named */
  readonly name: string | undefined;
  /** a form for people */
  readonly shown: string;
  readonly stat: Stat;
}

/** A path below the folder, segments joined by `/`, spelled as on this disk. The empty string is the folder itself. */
export type DiskPath = string;

/** Content on the same file system, under no name that the folder shows. */
export type Staged = string;

/**
 * A folder. No operation leaves it or follows a symbolic link, neither as the last segment nor as a parent: a parent
 * that is a link or a file is `in-the-way`. All throw DiskError.
 */
export interface Disk {
  /** What this disk can have as names. */
  traits(): Promise<Traits>;
  /** All entries but the client's own directory. `absent` when there is no such directory. */
  list(directory: DiskPath): Promise<Entry[]>;
  /** @returns undefined when the disk has nothing there. A disk that folds case answers for every spelling. */
  stat(path: DiskPath): Promise<Stat | undefined>;
  /**
   * The content of the regular file that `expected` describes. `changed` at once when it is another file, and at the
   * end when it was written to meanwhile.
   */
  read(path: DiskPath, expected: Stat): AsyncIterable<Uint8Array>;
  /** Writes and flushes content. Nothing is left of a stream that ends with an error, which is thrown as it is. */
  stage(content: Uint8Array | AsyncIterable<Uint8Array>): Promise<Staged>;
  /** What was staged. */
  readStaged(staged: Staged): AsyncIterable<Uint8Array>;
  /**
   * Gives staged content a name, creating parents. Takes the place of exactly the file that `expected` describes, or
   * of nothing when that is undefined; else `changed` or `exists`, and the staged content stays. Durable after `flush`.
   * @param like a file beside it whose permissions it gets: what it has in the place of another one may be private
   */
  place(staged: Staged, path: DiskPath, expected: Stat | undefined, like?: DiskPath): Promise<Stat>;
  discard(staged: Staged): Promise<void>;
  /** Renames exactly the file that `expected` describes to a name that is free (`exists`). */
  rename(from: DiskPath, to: DiskPath, expected: Stat): Promise<Stat>;
  /** Removes exactly the file that `expected` describes. */
  remove(path: DiskPath, expected: Stat): Promise<void>;
  /** @returns whether it was an empty directory and is gone now */
  removeDirectory(path: DiskPath): Promise<boolean>;
  /** Makes names in these directories durable. */
  flush(directories: Iterable<DiskPath>): Promise<void>;
  /** The marker that says which folder this is; undefined when there is none. */
  readMarker(): Promise<string | undefined>;
  /** Replaces exactly the marker `expected`, else `changed`: the folder is another now. Durable at once. */
  writeMarker(text: string, expected: string | undefined): Promise<void>;
  /** Throws away what a run that was killed has staged. */
  clearStaging(): Promise<void>;
  /** Bytes that may still be written, if the disk tells. */
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
  /** deleted since, or not to be had: a sentence says why */
  | { readonly status: 'missing'; readonly reason: string }
);

/** A content that is too large to be held in memory. */
export type OpenedDownload = { readonly encryptedPath: string } & (
  | {
      readonly status: 'found';
      readonly contentHash: string;
      readonly encryptedSize: number;
      /** Ends with TransferFailed when the content is not to be had, or is not the one that its hash says. */
      readonly envelope: AsyncIterable<Uint8Array>;
      /** To be called when the envelope is not wanted. */
      readonly cancel: () => void;
    }
  | { readonly status: 'missing'; readonly reason: string }
);

/** An envelope that is read while it is sent, once for each attempt, with the same bytes each time. */
export interface EnvelopeSource {
  readonly open: () => AsyncIterable<Uint8Array>;
  readonly length: number;
}

export interface Upload {
  readonly encryptedPath: string;
  readonly contentHash: string;
  readonly envelope: Uint8Array | EnvelopeSource;
  /** the content hash that it replaces; undefined when no live file may be there */
  readonly base: string | undefined;
}

export type Uploaded = { readonly encryptedPath: string } & (
  | { readonly status: 'stored'; readonly contentHash: string; readonly version: number }
  /** the server has something else than `base` */
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
  /** changed by another device above the base cursor, and not deleted */
  readonly conflicts: readonly string[];
}

/**
 * The server, in terms of encrypted paths and envelopes. Retries what a retry may cure; throws RemoteUnavailable when
 * that is over, and whatever was not answered may have landed or not.
 */
export interface Remote {
  /** @throws NeedsBootstrap */
  pull(cursor: number): Promise<Pulled>;
  snapshot(pageCursor: string | undefined): Promise<SnapshotPage>;
  /** Answers for each item at most once, in any order; an item without an answer is asked for again. */
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
  /** @returns an envelope: the same content twice gives two */
  encryptContent(encryptedPath: string, content: Uint8Array): Promise<Uint8Array>;
  /** @throws DoesNotOpen */
  decryptContent(encryptedPath: string, envelope: Uint8Array): Promise<Uint8Array>;
  /** As `encryptContent`, without holding the content. */
  encryptStream(encryptedPath: string, content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /**
   * As `decryptContent`. What it gives is verified by its end alone: until then nothing may be done with it that somebody
   * could see. @throws DoesNotOpen, at its end at the latest
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

/** A file of lines outside the folder, which no other process writes. */
export interface StateFile {
  /** The whole of it; empty when there is none. */
  read(): Promise<Uint8Array>;
  /** Cuts what is beyond: a line that was not written to its end. */
  truncate(length: number): Promise<void>;
  append(bytes: Uint8Array): Promise<void>;
  /** Everything that was appended outlives a loss of power from here on. */
  sync(): Promise<void>;
  /** Replaces the whole, atomically and durably. */
  replace(bytes: Uint8Array): Promise<void>;
}
