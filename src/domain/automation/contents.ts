import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { isUtf8 } from 'node:buffer';
import type { DecipherGCM } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import {
  decryptContent,
  DecryptionError,
  decryptLabel,
  decryptPath,
  ENVELOPE_OVERHEAD,
  isUnopened,
} from '../../../crypto/src/index.js';
import { Conflict, Unauthorized } from '../../platform/http/index.js';
import { plainUrl } from '../../platform/log.js';
import type { BlobReference, ByteRange } from '../../platform/storage/index.js';
import { contentDecipher, envelopeParts } from './content-decipher.js';
import { LARGE_NOTE_BYTES, LargeNotes } from './large-notes.js';
import { type Head, NoteHeads } from './note-heads.js';
import type { WipeableKeys } from './wipeable-keys.js';

/** A workspace opened for one request; its keys are wiped when the request has finished. */
export interface Vault {
  readonly sessionId: string;
  /** The personal access token that opened the session; null for a JWT. */
  readonly accessTokenId: string | null;
  readonly userId: string;
  readonly workspaceId: string;
  readonly keys: WipeableKeys;
}

/** There is no vault for this request: the key session is missing or has ended. */
export class KeySessionRequired extends Unauthorized {
  constructor() {
    super('key session required');
  }
}

/** For work that may outlast the request; the copy must be wiped when the work ends. */
export function copyOf(vault: Vault): Vault {
  return { ...vault, keys: vault.keys.copy() };
}

export function wipe({ keys }: Vault): void {
  keys.wipe();
}

/** The same bytes, not a copy. */
export const bufferOf = ({ buffer, byteOffset, length }: Uint8Array<ArrayBuffer>): Buffer =>
  Buffer.from(buffer, byteOffset, length);

/** The longest UTF-8 character, minus one byte. */
const LONGEST_REST = 3;

/** Checks whether a text that arrives in chunks is UTF-8. A character may be split across chunks. */
export class Utf8Check {
  /** The bytes of an incomplete character. */
  private rest: Buffer = Buffer.alloc(0);
  private isSound = true;

  add(piece: Buffer): void {
    if (!this.isSound) return;
    const bytes = this.rest.length > 0 ? Buffer.concat([this.rest, piece]) : piece;
    const end = lastBoundary(bytes);
    this.isSound = isUtf8(bytes.subarray(0, end));
    this.rest = Buffer.from(bytes.subarray(end));
    if (bytes !== piece) bytes.fill(0);
  }

  /** Call it once, after the last chunk. */
  isText(): boolean {
    return this.isSound && this.rest.length === 0;
  }
}

/** The start of the last character if it is incomplete; otherwise the end. */
function lastBoundary(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(LONGEST_REST, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** The most memory that one slow client may hold. Inline blobs are small too. */
const HELD_BYTES = 64 * 1024 + ENVELOPE_OVERHEAD;

const NO_TEXT = 'the file is not text';

/** A plaintext in UTF-8. */
export interface OpenedContent {
  /** To be read once, before `close`. A character may be split across chunks. */
  readonly pieces: Iterable<Buffer> | AsyncIterable<Buffer>;
  /** Wipes the plaintext from memory. */
  readonly close: () => void;
}

/** Decrypts envelopes. */
@Injectable()
export class Contents {
  constructor(
    private readonly heads: NoteHeads,
    private readonly largeNotes: LargeNotes,
  ) {}

  /**
   * Reads content that is not small twice, chunk by chunk: first to authenticate it, then at the pace of the client.
   * However slow the client is, it holds neither memory nor a slot.
   * @throws Conflict when the content cannot be decrypted or is not text, ServiceUnavailable when too many large
   * notes are being opened
   */
  async open({ userId, keys }: Vault, encryptedPath: string, blob: BlobReference): Promise<OpenedContent> {
    const release = await this.largeNotes.acquire(userId, blob.size);
    try {
      if (!blob.bytes && blob.size > HELD_BYTES) {
        const pieces = await this.verified(keys, encryptedPath, blob);
        return { pieces, close: () => undefined };
      }
      const content = bufferOf(await decryptContent(keys, encryptedPath, await this.heads.envelope(blob)));
      const wipe = (): Buffer => content.fill(0);
      if (isUtf8(content)) return { pieces: [content], close: wipe };
      wipe();
      throw new Conflict(NO_TEXT);
    } catch (error) {
      throw error instanceof DecryptionError
        ? new Conflict('the file cannot be decrypted with this key')
        : error;
    } finally {
      release();
    }
  }

  /**
   * Returns the chunks of content that has been authenticated and is text.
   * @throws DecryptionError, Conflict when it is not text
   */
  private async verified(
    keys: WipeableKeys,
    encryptedPath: string,
    blob: BlobReference,
  ): Promise<AsyncIterable<Buffer>> {
    const pass = await this.passes(keys, encryptedPath, blob);
    const check = new Utf8Check();
    for await (const piece of await pass()) check.add(piece);
    if (!check.isText()) throw new Conflict(NO_TEXT);
    return pass();
  }

  /**
   * Each call of the result decrypts the content once more, and needs the keys only until it resolves. Nothing is authenticated
   * before the last chunk of a pass has been read; all passes have the same tag.
   */
  private async passes(
    keys: WipeableKeys,
    encryptedPath: string,
    blob: BlobReference,
  ): Promise<() => Promise<AsyncGenerator<Buffer, void>>> {
    const parts = envelopeParts(blob.size);
    const header = await this.read(blob, parts.header);
    const tag = await this.read(blob, parts.tag);
    return async () => {
      const decipher = await contentDecipher(keys, encryptedPath, { header, tag });
      return this.decrypted(blob, decipher, parts.ciphertext);
    };
  }

  private async read(blob: BlobReference, range: ByteRange): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of this.heads.pieces(blob, range)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  private async *decrypted(
    blob: BlobReference,
    decipher: DecipherGCM,
    ciphertext: ByteRange,
  ): AsyncGenerator<Buffer, void> {
    for await (const piece of this.heads.pieces(blob, ciphertext)) {
      const text = decipher.update(piece);
      try {
        yield text;
      } finally {
        text.fill(0);
      }
    }
    finish(decipher);
  }

  /** Whether a file has this content. A file that cannot be decrypted does not. */
  async isSame({ keys }: Vault, head: Head, content: Buffer): Promise<boolean> {
    if (head.size !== content.length + ENVELOPE_OVERHEAD) return false;
    try {
      if (!head.bytes && head.size > LARGE_NOTE_BYTES) return await this.isSameStream(keys, head, content);
      const current = await decryptContent(keys, head.encryptedPath, await this.heads.envelope(head));
      const isSame = content.equals(current);
      current.fill(0);
      return isSame;
    } catch (error) {
      if (error instanceof DecryptionError) return false;
      throw error;
    }
  }

  /** WebCrypto would hold a large note several times over. @throws DecryptionError */
  private async isSameStream(keys: WipeableKeys, head: Head, content: Buffer): Promise<boolean> {
    let at = 0;
    const pass = await this.passes(keys, head.encryptedPath, head);
    for await (const piece of await pass()) {
      if (!piece.equals(content.subarray(at, at + piece.length))) return false;
      at += piece.length;
    }
    return at === content.length;
  }
}

/** Verifies the tag. @throws DecryptionError */
function finish(decipher: DecipherGCM): void {
  try {
    decipher.final();
  } catch (cause) {
    throw new DecryptionError('the envelope does not open', { cause });
  }
}

/** Bytes of plaintext in an envelope of `encryptedSize`; 0 when it is too small to be an envelope. */
export function plaintextSize(encryptedSize: number): number {
  return Math.max(encryptedSize - ENVELOPE_OVERHEAD, 0);
}

/** The decrypted path; null when another client encrypted it with another key or by other rules. Null is shown to the caller. */
export function pathOrNull(keys: WipeableKeys, encryptedPath: string): string | null {
  try {
    return decryptPath(keys, encryptedPath);
  } catch (error) {
    if (isUnopened(error)) return null;
    throw error;
  }
}

/** The same for a label. */
export async function labelOrNull(keys: WipeableKeys, encryptedLabel: string): Promise<string | null> {
  try {
    return await decryptLabel(keys, encryptedLabel);
  } catch (error) {
    if (isUnopened(error)) return null;
    throw error;
  }
}

const ROOT = '/api/v1/automation/';
const UNROUTED = /\/automation\/.*$/is;

/**
 * URLs of this API contain note paths and search words, which only the handlers may see. After routing, everything recorded about
 * a request, even about one that was refused, shows only the route and the workspace.
 */
@Injectable()
export class PlaintextUrls implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost) {}

  /** When the hook runs, the router has already read the URL, and after that only the log reads it. */
  onModuleInit(): void {
    const adapter = this.host.httpAdapter as FastifyAdapter | null; // the admin command has none
    if (!adapter) return;
    const fastify = adapter.getInstance();
    fastify.addHook('onRequest', (request, _reply, done) => {
      forgetPlaintext(request);
      done();
    });
    // For requests that another hook refused before they reached the first one.
    fastify.addHook('onSend', (request, _reply, _payload, done) => {
      forgetPlaintext(request);
      done();
    });
  }
}

/** Uses the router's pattern, because a URL can be spelled in many ways. */
function forgetPlaintext({ raw, routeOptions, params }: FastifyRequest): void {
  if (routeOptions.url?.startsWith(ROOT)) {
    raw.url = routeOptions.url.replace(':id', (params as { id: string }).id);
  } else raw.url = plainUrl(raw.url ?? '').replace(UNROUTED, '/automation/[redacted]');
}
