import { isUtf8 } from 'node:buffer';
import { BlobMissing } from '../../../platform/storage/index.js';
import type { Head, NoteHeads } from '../note-heads.js';
import { pathOrNull } from '../plaintext.js';
import type { EventLoopYield } from '../../../platform/async/index.js';
import { decryptContent, DecryptionError } from '../vault-crypto.js';
import type { Vault } from '../vault.js';
import type { SearchIndexes } from './search-indexes.js';
import type { SessionIndex } from './session-index.js';
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
      const content = decryptContent(this.vault.keys, head.encryptedPath, envelope);
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
