import { Injectable } from '@nestjs/common';
import { isUtf8 } from 'node:buffer';
import { decryptContent, DecryptionError } from '../../../../crypto/src/index.js';
import { EventLoopYield } from '../../../platform/async.js';
import { Clock } from '../../../platform/clock.js';
import { Conflict } from '../../../platform/http/index.js';
import { BlobMissing } from '../../../platform/storage/index.js';
import { ChangeLogReader } from '../../sync/index.js';
import { bufferOf, pathOrNull, type Vault } from '../contents.js';
import { type Head, NoteHeads } from '../note-heads.js';
import { SearchIndexes, type SessionIndex } from './search-indexes.js';
import type { IndexedNote, TextIndex } from './text-index.js';

/** Notes with more encrypted bytes are found by path only: opening any part of an envelope requires reading all of it. */
const LARGEST_READ = 1024 * 1024;
/** Bytes of plaintext that are indexed per note. */
const SEARCHED_BYTES = 64 * 1024;
/** Limits above which not even paths are indexed: a number of notes, and a multiple of the memory budget for texts. */
const MOST_NOTES = 100_000;
const MOST_MEMORY = 1.25;

/** The index was evicted in favor of others; what was added to it is gone. */
export class IndexEvicted extends Error {
  override readonly name = 'IndexEvicted';
}

/** One refresh of one index. */
export class Feeding {
  /** The contents of the index, valid until it is evicted. */
  readonly notes: TextIndex;

  constructor(
    private readonly heads: NoteHeads,
    private readonly indexes: SearchIndexes,
    readonly index: SessionIndex,
    private readonly vault: Vault,
    private readonly turns: EventLoopYield,
  ) {
    this.notes = index.notes;
  }

  /** @throws KeySessionRequired when the session has ended meanwhile, IndexEvicted */
  check(): void {
    this.index.ended.throwIfAborted();
    if (this.index.notes !== this.notes) throw new IndexEvicted();
  }

  /**
   * Indexes the current versions of these notes. Above the budget only paths are indexed, and above 1.25 times the
   * budget nothing.
   * @throws as check
   */
  async take(encryptedPaths: readonly string[]): Promise<void> {
    const { notes, indexes } = this;
    const heads = await this.heads.among(this.index.workspaceId, encryptedPaths, LARGEST_READ);
    const live = new Map(heads.map((head) => [head.encryptedPath, head]));
    for (const encryptedPath of encryptedPaths) {
      const head = live.get(encryptedPath);
      if (head && notes.versionOf(encryptedPath) === head.version) continue;
      const note = head && (await this.noteOf(head));
      this.check();
      notes.remove(encryptedPath);
      if (note && notes.size < MOST_NOTES && notes.bytes < indexes.budget * MOST_MEMORY) notes.put(note);
      indexes.makeRoomFor(this.index); // after each note: a single one may take several megabytes
      await this.turns.pause();
    }
  }

  /** Undefined for a file whose path cannot be decrypted with this key. */
  private async noteOf(head: Head): Promise<IndexedNote | undefined> {
    const { encryptedPath, version } = head;
    const path = pathOrNull(this.vault.keys, encryptedPath);
    if (path === null) return undefined;
    const text = this.notes.bytes < this.indexes.budget ? await this.textOf(head) : '';
    return { encryptedPath, path, version, text };
  }

  /** The start of the text; empty when it cannot be decrypted, is not text, or is too large. */
  private async textOf(head: Head): Promise<string> {
    if (head.size > LARGEST_READ) return '';
    try {
      const envelope = await this.heads.envelope(head);
      const content = bufferOf(await decryptContent(this.vault.keys, head.encryptedPath, envelope));
      // A split character becomes a replacement mark, which is not part of any word.
      const text = isUtf8(content) ? content.toString('utf8', 0, SEARCHED_BYTES) : '';
      content.fill(0);
      return text;
    } catch (error) {
      if (error instanceof DecryptionError || error instanceof BlobMissing) return '';
      throw error;
    }
  }
}

const PAGE = 1_000;
/** Heads are read with their bytes, which are at most INLINE_BLOB_BYTES each. */
const BATCH = 50;

/** Keeps search indexes up to date: from the snapshot first, then from the change log. */
@Injectable()
export class IndexFeed {
  constructor(
    private readonly sync: ChangeLogReader,
    private readonly heads: NoteHeads,
    private readonly indexes: SearchIndexes,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns the contents of the index once they match the workspace; undefined when the index must be built first.
   * @throws KeySessionRequired when the session ends meanwhile
   */
  async follow(index: SessionIndex, vault: Vault): Promise<TextIndex | undefined> {
    if (index.cursor === undefined) return undefined;
    const feeding = this.feedingOf(index, vault);
    try {
      return (await this.followLog(feeding)) ? feeding.notes : undefined;
    } catch (error) {
      if (error instanceof IndexEvicted) return undefined;
      throw error;
    }
  }

  /**
   * Builds the index from scratch. Only one large workspace at a time: it may need the whole memory budget. @throws
   * KeySessionRequired
   */
  async build(index: SessionIndex, vault: Vault): Promise<TextIndex> {
    index.isBuilding = true;
    try {
      const feeding = this.feedingOf(index, vault);
      do await this.walk(feeding);
      while (!(await this.followLog(feeding)));
      return feeding.notes;
    } finally {
      index.isBuilding = false;
    }
  }

  private feedingOf(index: SessionIndex, vault: Vault): Feeding {
    return new Feeding(this.heads, this.indexes, index, vault, new EventLoopYield(this.clock));
  }

  private async walk(feeding: Feeding): Promise<void> {
    const { index, notes } = feeding;
    const gone = new Set(notes.paths());
    index.cursor = undefined;
    let first: number | undefined;
    for (let after: string | undefined, hasMore = true; hasMore;) {
      const page = await this.sync.snapshot(index.workspaceId, after, PAGE);
      first ??= page.cursor; // writes during the walk have higher cursors
      for (const { encryptedPath } of page.files) gone.delete(encryptedPath);
      const changed = page.files.filter((file) => notes.versionOf(file.encryptedPath) !== file.version);
      await this.take(
        feeding,
        changed.map(({ encryptedPath }) => encryptedPath),
      );
      after = page.files.at(-1)?.id;
      hasMore = page.hasMore;
    }
    feeding.check();
    for (const encryptedPath of gone) notes.remove(encryptedPath);
    index.cursor = first;
  }

  /** Returns false when the log no longer continues from the cursor: it was compacted, or a backup was restored. */
  private async followLog(feeding: Feeding): Promise<boolean> {
    const { index } = feeding;
    try {
      for (let hasMore = true; hasMore;) {
        const page = await this.sync.pull(index.workspaceId, index.cursor ?? 0, PAGE);
        await this.take(feeding, [...new Set(page.changes.map(({ encryptedPath }) => encryptedPath))]);
        feeding.check(); // the cursor must match the contents of the index
        index.cursor = page.cursor;
        hasMore = page.hasMore;
      }
      return true;
    } catch (error) {
      if (error instanceof Conflict) return false;
      throw error;
    }
  }

  private async take(feeding: Feeding, encryptedPaths: readonly string[]): Promise<void> {
    for (let at = 0; at < encryptedPaths.length; at += BATCH) {
      await feeding.take(encryptedPaths.slice(at, at + BATCH));
    }
  }
}
