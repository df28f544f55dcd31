import { Injectable } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { Configuration } from '../config/index.js';
import { inTime } from '../platform/clock/index.js';
import { BadRequest, bodyChunks, JsonAroundText, RequestTimeout } from '../platform/http/index.js';
import { type Count, FreeSpace } from '../storage/index.js';
import { JsonText } from './json-text.js';
import { LARGE_NOTE_BYTES, LargeNotes } from './large-notes.js';

/** Takes a JSON object apart as it comes: the text of its member `content` is decoded at once, all the rest is kept. */
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
        this.around.isInText = at === chunk.length; // otherwise the quote comes, and is read as the end of a string
      } else this.readAround(String.fromCharCode(chunk[at++] ?? 0));
    }
  }

  /** All members, after the last byte; `content` as bytes of UTF-8. @throws BadRequest */
  end(): { members: Record<string, unknown>; content: Buffer } {
    const members = this.around.members();
    if (!this.hasContent || members.content !== '') throw new BadRequest('content must be a text');
    return { members, content: this.text.end() };
  }

  /** The content, as far as it has come. */
  wipe(): void {
    this.text.wipe();
  }

  private readAround(char: string): void {
    this.around.read(char);
    if (!this.around.isInText) return;
    if (this.hasContent) throw new BadRequest('content must be there once');
    this.hasContent = true;
  }
}

/** JSON may write every byte of a text as an escape of six. */
const ESCAPED = 6;
const AROUND_BYTES = 64 * 1024;

const SMALL_TIMEOUT_MS = 30_000;
const LARGE_TIMEOUT_MS = 120_000;

/** A request to write a note. */
export interface NoteBody {
  /** What else the body has; not checked yet. */
  readonly members: Record<string, unknown>;
  /** UTF-8. */
  readonly content: Buffer;
}

/** Reads the bodies that have a note's content in them. */
@Injectable()
export class NoteBodies {
  constructor(
    private readonly configuration: Configuration,
    private readonly largeNotes: LargeNotes,
    private readonly space: FreeSpace,
  ) {}

  /**
   * Reads a body and lends it for as long as `use` takes; the content is wiped then, also one that has come in part or is
   * refused. A content may have MAX_FILE_BYTES.
   * @param userId whose body it is
   * @throws BadRequest, PayloadTooLarge, RequestTimeout, ServiceUnavailable when too many large ones come at a time, NoRoom
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

/** A body's place among the large ones, from the moment it turns out to be one. */
class Held {
  private isLarge = false;
  private hasLeft = false;
  private giveBack: (() => void) | undefined;

  constructor(
    private readonly largeNotes: LargeNotes,
    private readonly userId: string,
  ) {}

  /** @throws RequestTimeout when it has left: nothing more may come in */
  async grow(size: number): Promise<void> {
    this.refuseLate();
    if (this.isLarge || size <= LARGE_NOTE_BYTES) return;
    this.isLarge = true;
    this.giveBack = await this.largeNotes.acquire(this.userId, size);
    if (this.hasLeft) this.giveBack(); // the time was over while it waited for its place
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

/** By its own word; a body whose length is not said may be large. */
function isSmall({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? Number.MAX_SAFE_INTEGER) <= LARGE_NOTE_BYTES;
}

function tooSlow(): RequestTimeout {
  return new RequestTimeout('the request body took too long');
}
