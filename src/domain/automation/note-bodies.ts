import { Injectable } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { Configuration } from '../../platform/config/index.js';
import {
  BadRequest,
  bodyChunks,
  HELD_OF_STREAM,
  JsonAroundText,
  type Place,
  placesOf,
  WorkSlot,
} from '../../platform/http/index.js';
import { FreeSpace } from '../../platform/storage/index.js';
import { JsonText } from './note-answer.js';
import { LARGE_NOTE_BYTES, LargeNotes } from './large-notes.js';

/** Parses a JSON object as it arrives: decodes the text of its member `content` immediately, and keeps everything else. */
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

/** JSON may write each byte of a text as an escape of six bytes. */
const ESCAPED = 6;
const AROUND_BYTES = 64 * 1024;

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
   * @throws BadRequest, PayloadTooLarge, RequestTimeout, ServiceUnavailable when too many large notes are processed
   * concurrently, NoRoom
   */
  lend<T>(request: IncomingMessage, userId: string, use: (body: NoteBody) => Promise<T>): Promise<T> {
    return this.space.during((place) => this.readAndLend(request, userId, place, use));
  }

  private async readAndLend<T>(
    request: IncomingMessage,
    userId: string,
    space: Place,
    use: (body: NoteBody) => Promise<T>,
  ): Promise<T> {
    const scanner = new NoteScanner(this.configuration.maxFileBytes);
    const slot = new LargeNoteSlot(scanner, () => this.largeNotes.take(userId));
    try {
      return await use(await this.read(request, scanner, placesOf(space, slot)));
    } finally {
      scanner.wipe();
      slot.rest();
    }
  }

  /** A slow body holds no slot, only its bytes. */
  private async read(request: IncomingMessage, scanner: NoteScanner, place: Place): Promise<NoteBody> {
    const limit = this.configuration.maxFileBytes * ESCAPED + AROUND_BYTES;
    const held = (received: number): number => Math.min(received, scanner.size + HELD_OF_STREAM);
    const body = bodyChunks(request, limit, { place, held });
    for await (const chunk of body) scanner.feed(chunk);
    return scanner.end();
  }
}

/** The slot of a body that turns out to be a large note, taken at that point. */
class LargeNoteSlot implements Place {
  private readonly slot: WorkSlot;

  constructor(
    private readonly scanner: NoteScanner,
    take: () => Promise<() => void>,
  ) {
    this.slot = new WorkSlot(take);
  }

  work(bytes: number): Promise<void> | undefined {
    return this.scanner.size + bytes > LARGE_NOTE_BYTES ? this.slot.work() : undefined;
  }

  rest(): void {
    this.slot.rest();
  }
}
