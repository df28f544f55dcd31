import { isUtf8 } from 'node:buffer';
import { Injectable } from '@nestjs/common';
import type { BlobReference } from '../platform/blobs/index.js';
import { Conflict } from '../platform/http/index.js';
import { type Head, NoteHeads } from './note-heads.js';
import { LargeNotes } from './large-notes.js';
import { decryptContent, DecryptionError, ENVELOPE_OVERHEAD } from './vault-crypto.js';
import type { Vault } from './vault.js';

/** A plaintext, UTF-8, in memory until `close` is called, which wipes it. */
export interface OpenedContent {
  readonly content: Buffer;
  readonly close: () => void;
}

/** What is in the envelopes. */
@Injectable()
export class Contents {
  constructor(
    private readonly heads: NoteHeads,
    private readonly largeNotes: LargeNotes,
  ) {}

  /** @throws Conflict when it does not open or is no text, ServiceUnavailable when too many large ones are open */
  async open({ userId, keys }: Vault, encryptedPath: string, blob: BlobReference): Promise<OpenedContent> {
    const leave = await this.largeNotes.acquire(userId, blob.size);
    try {
      const content = decryptContent(keys, encryptedPath, await this.heads.envelope(blob));
      if (!isUtf8(content)) {
        content.fill(0);
        throw new Conflict('the file is not a text');
      }
      const close = (): void => {
        content.fill(0);
        leave();
      };
      return { content, close };
    } catch (error) {
      leave();
      throw error instanceof DecryptionError ? new Conflict('the file does not open with this key') : error;
    }
  }

  /** Whether a file has this content. What does not open has another one. */
  async isSame({ keys }: Vault, head: Head, content: Buffer): Promise<boolean> {
    if (head.size !== content.length + ENVELOPE_OVERHEAD) return false;
    const envelope = await this.heads.envelope(head);
    try {
      const current = decryptContent(keys, head.encryptedPath, envelope);
      const isSame = current.equals(content);
      current.fill(0);
      return isSame;
    } catch (error) {
      if (error instanceof DecryptionError) return false;
      throw error;
    }
  }
}
