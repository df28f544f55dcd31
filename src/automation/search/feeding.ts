import { isUtf8 } from 'node:buffer';
import { BlobMissing } from '../../storage/index.js';
import type { Head, NoteHeads } from '../note-heads.js';
import { pathOrNull } from '../plaintext.js';
import type { EventLoopYield } from '../../platform/async/index.js';
import { decryptContent, DecryptionError } from '../vault-crypto.js';
import type { Vault } from '../vault.js';
import type { SearchIndexes } from './search-indexes.js';
import type { SessionIndex } from './session-index.js';
import type { IndexedNote, TextIndex } from './text-index.js';

/** Encrypted bytes above which a note is found by its path alone: all of an envelope is read to open any of it. */
const LARGEST_READ = 1024 * 1024;
/** Bytes of plaintext that are searched. */
const SEARCHED_BYTES = 64 * 1024;
/** Beyond these, even paths are too many; and beyond so much of the memory that texts may take. */
const MOST_NOTES = 100_000;
const MOST_MEMORY = 1.25;

/** Other indexes have needed the room: what was put in is gone. */
export class IndexEvicted extends Error {
  override readonly name = 'IndexEvicted';
}

/** One refresh of one index. */
export class Feeding {
  /** What the index has, for as long as it does not give way. */
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

  /** Puts these notes in as they are now. Beyond the budget only paths go in, and beyond a quarter more nothing. @throws as check */
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
      indexes.makeRoomFor(this.index); // after each one: a single note may take some megabytes
      await this.turns.pause();
    }
  }

  /** Undefined for what has no path under this key. */
  private async noteOf(head: Head): Promise<IndexedNote | undefined> {
    const { encryptedPath, version } = head;
    const path = pathOrNull(this.vault.keys, encryptedPath);
    if (path === null) return undefined;
    const text = this.notes.bytes < this.indexes.budget ? await this.textOf(head) : '';
    return { encryptedPath, path, version, text };
  }

  /** The beginning of the text; empty when it does not open, is no text, or is too large. */
  private async textOf(head: Head): Promise<string> {
    if (head.size > LARGEST_READ) return '';
    try {
      const envelope = await this.heads.envelope(head);
      const content = decryptContent(this.vault.keys, head.encryptedPath, envelope);
      // A character that is cut in two becomes a mark that is part of no word.
      const text = isUtf8(content) ? content.toString('utf8', 0, SEARCHED_BYTES) : '';
      content.fill(0);
      return text;
    } catch (error) {
      if (error instanceof DecryptionError || error instanceof BlobMissing) return '';
      throw error;
    }
  }
}
