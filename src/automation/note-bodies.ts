import { Injectable } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { Configuration } from '../config/index.js';
import { inTime } from '../platform/clock/index.js';
import { BadRequest, bodyChunks, JsonAroundText, RequestTimeout } from '../platform/http/index.js';
import { type Count, FreeSpace } from '../storage/index.js';
import { JsonText } from './json-text.js';
import { LARGE_NOTE_BYTES, LargeNotes } from './large-notes.js';

/**
 * Parses a JSON object as it arrives: the text of its member `content` is decoded immediately, everything else is
 * kept.
 */
export class NoteScanner {
  private readonly around = new JsonAroundText('content');
  private readonly text: JsonText;
  private hasContent = false;

  /** @param limit of the content, in bytes */
  constructor(limit: number) {
    this.text = new JsonText(limit);
  }

  /** Bytes of content so far. */
  get size(): number {
    return this.text.size;
  }

  /** @throws BadRequest, PayloadTooLarge */
  feed(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      if (this.around.isInText) {
        at = this.text.read(chunk, at);
        this.around.isInText = at === chunk.length; // otherwise the quote follows and is read as the end of a string
      } else this.readAround(String.fromCharCode(chunk[at++] ?? 0));
    }
  }

  /** Returns all members, with `content` as UTF-8 bytes; call it after the last byte. @throws BadRequest */
  end(): { members: Record<string, unknown>; content: Buffer } {
    const members = this.around.members();
    if (!this.hasContent || members.content !== '') throw new BadRequest('content must be a string');
    return { members, content: this.text.end() };
  }

  /** Wipes the content received so far. */
  wipe(): void {
    this.text.wipe();
  }

  private readAround(char: string): void {
    this.around.read(char);
    if (!this.around.isInText) return;
    if (this.hasContent) throw new BadRequest('content must appear exactly once');
    this.hasContent = true;
  }
}

/** JSON may write each byte of a text as an escape of six. */
const ESCAPED = 6;
const AROUND_BYTES = 64 * 1024;

const SMALL_TIMEOUT_MS = 30_000;
const LARGE_TIMEOUT_MS = 120_000;

/** A request to write a note. */
export interface NoteBody {
  /** The other members of the body, not validated yet. */
  readonly members: Record<string, unknown>;
  /** UTF-8. */
  readonly content: Buffer;
}

/** Reads request bodies that contain the content of a note. */
@Injectable()
export class NoteBodies {
  constructor(
    private readonly configuration: Configuration,
    private readonly largeNotes: LargeNotes,
    private readonly space: FreeSpace,
  ) {}

  /**
   * Reads a body and passes it to `use`; the content is wiped afterwards, even if it was incomplete or refused. It
   * may have up to MAX_FILE_BYTES.
   * @param userId the user who sends the body
   * @throws BadRequest, PayloadTooLarge, RequestTimeout, ServiceUnavailable when too many large notes arrive
   * concurrently, NoRoom
   */
  lend<T>(request: IncomingMessage, userId: string, use: (body: NoteBody) => Promise<T>): Promise<T> {
    return this.space.during((count) => this.readAndLend(request, userId, count, use));
  }

  private async readAndLend<T>(
    request: IncomingMessage,
    userId: string,
    count: Count,
    use: (body: NoteBody) => Promise<T>,
  ): Promise<T> {
    const held = new Held(this.largeNotes, userId);
    const scanner = new NoteScanner(this.configuration.maxFileBytes);
    try {
      return await use(await this.read(request, { scanner, held, count }));
    } finally {
      scanner.wipe();
      held.leave();
    }
  }

  private async read(
    request: IncomingMessage,
    { scanner, held, count }: { scanner: NoteScanner; held: Held; count: Count },
  ): Promise<NoteBody> {
    const { maxFileBytes } = this.configuration;
    const reading = async (): Promise<NoteBody> => {
      for await (const chunk of bodyChunks(request, maxFileBytes * ESCAPED + AROUND_BYTES, count)) {
        await held.grow(scanner.size + chunk.length);
        scanner.feed(chunk);
      }
      return scanner.end();
    };
    return inTime(isSmall(request) ? SMALL_TIMEOUT_MS : LARGE_TIMEOUT_MS, reading(), tooSlow);
  }
}

/** A body's slot among the large notes, taken once it turns out to be large. */
class Held {
  private isLarge = false;
  private hasLeft = false;
  private giveBack: (() => void) | undefined;

  constructor(
    private readonly largeNotes: LargeNotes,
    private readonly userId: string,
  ) {}

  /** @throws RequestTimeout after `leave`, when no more bytes may be accepted */
  async grow(size: number): Promise<void> {
    this.refuseLate();
    if (this.isLarge || size <= LARGE_NOTE_BYTES) return;
    this.isLarge = true;
    this.giveBack = await this.largeNotes.acquire(this.userId, size);
    if (this.hasLeft) this.giveBack(); // the request timed out while waiting for its slot
    this.refuseLate();
  }

  leave(): void {
    this.hasLeft = true;
    this.giveBack?.();
  }

  private refuseLate(): void {
    if (this.hasLeft) throw tooSlow();
  }
}

/** According to Content-Length; a body without one may be large. */
function isSmall({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? Number.MAX_SAFE_INTEGER) <= LARGE_NOTE_BYTES;
}

function tooSlow(): RequestTimeout {
  return new RequestTimeout('the request body took too long');
}
