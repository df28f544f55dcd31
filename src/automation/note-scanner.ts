import { BadRequest, JsonAroundText } from '../platform/http/index.js';
import { JsonText } from './json-text.js';

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
