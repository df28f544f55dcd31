import { BadRequest, PayloadTooLarge } from './api-errors.js';
import { parseJsonObject } from './json.js';

/** Names, other members, what the route does not offer. */
const MAX_KEPT = 64 * 1024;

/**
 * Scans a JSON object with one large string member as it comes. The caller takes that string; all the rest is kept,
 * with an empty text in its place, and parsed as any other body: it is JSON exactly when the whole is, the string's
 * own rules apart. Characters are latin1, one per byte, until they are parsed.
 */
export class JsonAroundText {
  /** Whether what comes now is the text. To be ended by who takes it, before the closing quote, which is read here. */
  isInText = false;

  private readonly seen = new Set<string>();
  private kept = '';
  private depth = 0;
  private isInString = false;
  private isEscaped = false;
  private stringStart = 0;
  /** The last text at the top level, which is a name if a colon follows. */
  private lastText = '';
  /** The member at the top level whose value is due; undefined where a name is. */
  private member: string | undefined;

  /**
   * @param longMember the member whose text is not kept
   * @param once members that may not come twice
   */
  constructor(
    private readonly longMember: string,
    private readonly once: ReadonlySet<string> = new Set(),
  ) {}

  /** How many characters are kept. */
  get length(): number {
    return this.kept.length;
  }

  /** The next character outside of the text. @throws BadRequest, PayloadTooLarge */
  read(char: string): void {
    if (this.kept.length === MAX_KEPT)
      throw new PayloadTooLarge(`the request body has more than ${MAX_KEPT} bytes beside ${this.longMember}`);
    this.kept += char;
    if (this.isInString) this.readString(char);
    else if (char === '"') this.beginString();
    else if (char === '{' || char === '[') this.depth++;
    else if (char === '}' || char === ']') this.depth--;
    else if (char === ':' && this.depth === 1) this.beginMember();
    else if (char === ',' && this.depth === 1) this.member = undefined;
  }

  /** All members, after the last byte. @throws BadRequest */
  members(): Record<string, unknown> {
    return parseJsonObject(Buffer.from(this.kept, 'latin1'));
  }

  /** Those of the first so many characters, which end where the text has begun. @throws BadRequest */
  membersBefore(length: number): Record<string, unknown> {
    return parseJsonObject(Buffer.from(`${this.kept.slice(0, length)}"}`, 'latin1'));
  }

  private readString(char: string): void {
    if (this.isEscaped) this.isEscaped = false;
    else if (char === '\\') this.isEscaped = true;
    else if (char === '"') {
      this.isInString = false;
      if (this.depth === 1) this.lastText = this.kept.slice(this.stringStart);
    }
  }

  private beginString(): void {
    this.isInString = true;
    this.stringStart = this.kept.length - 1;
    this.isInText = this.depth === 1 && this.member === this.longMember;
  }

  private beginMember(): void {
    this.member = nameIn(this.lastText);
    if (this.once.has(this.member) && this.seen.has(this.member))
      throw new BadRequest(`${this.member} must be there once`);
    this.seen.add(this.member);
  }
}

/** A name may be escaped too. */
function nameIn(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    throw new BadRequest('the request body is not valid JSON');
  }
}
