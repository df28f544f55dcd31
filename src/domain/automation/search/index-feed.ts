import { Injectable } from '@nestjs/common';
import { Clock } from '../../../platform/clock/index.js';
import { Conflict } from '../../../platform/http/index.js';
import { ChangeLogReader } from '../../sync/index.js';
import { NoteHeads } from '../note-heads.js';
import { EventLoopYield } from '../../../platform/async/index.js';
import type { Vault } from '../vault.js';
import { Feeding, IndexEvicted } from './feeding.js';
import { SearchIndexes } from './search-indexes.js';
import type { SessionIndex } from './session-index.js';
import type { TextIndex } from './text-index.js';

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
   * Returns the contents of the index once they match the workspace; undefined when the index has to be built first.
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
