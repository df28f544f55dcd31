import { isUtf8 } from 'node:buffer';
import type { DecipherGCM } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { BlobReference, ByteRange } from '../platform/blobs/index.js';
import { Conflict } from '../platform/http/index.js';
import { type Head, NoteHeads } from './note-heads.js';
import { LargeNotes } from './large-notes.js';
import { contentDecipher, decryptContent, DecryptionError, ENVELOPE_OVERHEAD } from './vault-crypto.js';
import type { Vault } from './vault.js';

/** What one slow client may keep in memory. What is stored inline is small as well. */
const HELD_BYTES = 64 * 1024;

/** A plaintext, UTF-8. */
export interface OpenedContent {
  /** To be read once, before `close`. A character may be cut in two. */
  readonly pieces: Iterable<Buffer> | AsyncIterable<Buffer>;
  /** Wipes what is in memory. */
  readonly close: () => void;
}

/** What is in the envelopes. */
@Injectable()
export class Contents {
  constructor(
    private readonly heads: NoteHeads,
    private readonly largeNotes: LargeNotes,
  ) {}

  /**
   * A content that is not small is opened whole to know that it is true, let go, and read once more as the client takes
   * it: however slowly that is, it holds neither memory nor a slot.
   * @throws Conflict when it does not open or is no text, ServiceUnavailable when too many large ones are being opened
   */
  async open({ userId, keys }: Vault, encryptedPath: string, blob: BlobReference): Promise<OpenedContent> {
    const release = await this.largeNotes.acquire(userId, blob.size);
    try {
      const envelope = await this.heads.envelope(blob);
      const content = decryptContent(keys, encryptedPath, envelope);
      const wipe = (): Buffer => content.fill(0);
      if (!isUtf8(content)) {
        wipe();
        throw new Conflict('the file is not a text');
      }
      if (blob.bytes || content.length <= HELD_BYTES) return { pieces: [content], close: wipe };
      wipe();
      const { decipher, ciphertext } = contentDecipher(keys, encryptedPath, envelope);
      return { pieces: this.decrypted(blob, decipher, ciphertext), close: () => undefined };
    } catch (error) {
      throw error instanceof DecryptionError ? new Conflict('the file does not open with this key') : error;
    } finally {
      release();
    }
  }

  private async *decrypted(
    blob: BlobReference,
    decipher: DecipherGCM,
    ciphertext: ByteRange,
  ): AsyncGenerator<Buffer, void> {
    for await (const piece of await this.heads.ciphertext(blob, ciphertext)) {
      const text = decipher.update(piece);
      try {
        yield text;
      } finally {
        text.fill(0);
      }
    }
    decipher.final(); // as it was before: what is stored never changes
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
