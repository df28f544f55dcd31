import { BadRequest, PayloadTooLarge } from './api-errors.js';
import { parseJsonObject } from './json-response.js';

/** Room for names, other members and members that the route does not accept. */
const MAX_KEPT = 64 * 1024;

/**
 * Scans a JSON object with one large string member while it arrives. The caller consumes that string; everything else is kept,
 * with an empty string in its place, and parsed like any other body: it is valid JSON exactly if the whole body is, apart from
 * the rules for the string itself. Characters are latin1, one per byte, until they are parsed.
 */
export class JsonAroundText {
  /**
   * Whether the next characters belong to the long string. The caller resets it before the closing quote, which `read`
   * consumes.
   */
  isInText = false;

  private readonly seen = new Set<string>();
  private kept = '';
  private depth = 0;
  private isInString = false;
  private isEscaped = false;
  private stringStart = 0;
  /** The last top-level string, which is a name if a colon follows. */
  private lastText = '';
  /** The top-level member whose value comes next; undefined when a name comes next. */
  private member: string | undefined;

  /**
   * @param longMember the member whose string is not kept
   * @param once members that may occur only once
   */
  constructor(
    private readonly longMember: string,
    private readonly once: ReadonlySet<string> = new Set(),
  ) {}

  /** The number of kept characters. */
  get length(): number {
    return this.kept.length;
  }

  /**
   * Reads the next character outside of the long string.
   * @throws BadRequest, PayloadTooLarge
   */
  read(char: string): void {
    if (this.kept.length === MAX_KEPT)
      throw new PayloadTooLarge(
        `the request body has more than ${MAX_KEPT} bytes outside ${this.longMember}`,
      );
    this.kept += char;
    if (this.isInString) this.readString(char);
    else if (char === '"') this.beginString();
    else if (char === '{' || char === '[') this.depth++;
    else if (char === '}' || char === ']') this.depth--;
    else if (char === ':' && this.depth === 1) this.beginMember();
    else if (char === ',' && this.depth === 1) this.member = undefined;
  }

  /**
   * All members, after the last byte.
   * @throws BadRequest
   */
  members(): Record<string, unknown> {
    return parseJsonObject(Buffer.from(this.kept, 'latin1'));
  }

  /**
   * The members within the first `length` characters, which end where the long string starts.
   * @throws BadRequest
   */
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
      throw new BadRequest(`${this.member} must appear exactly once`);
    this.seen.add(this.member);
  }
}

/** A name may contain escapes. */
function nameIn(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    throw new BadRequest('the request body is not valid JSON');
  }
}

/** The opaque parts of a list of entity tags. Weak tags are skipped unless `weak` is set. */
export function parseEntityTags(header: string, weak = false): string[] {
  if (header.trim() === '*') return ['*'];
  const tags = header.matchAll(/(W\/)?"([\x21\x23-\x7e]*)"/g);
  const named = [...tags].filter(([, isWeak]) => weak || !isWeak).map(([, , tag]) => tag ?? '');
  return named.filter((tag) => tag !== '*'); // a quoted `*` is an ordinary tag, which no resource has
}

/**
 * The tags of an `If-Match`, or `*`; null when absent. Weak tags match nothing.
 * @param tags a description of the tags, for the error
 * @throws BadRequest when it lists no tag: a precondition that is ignored would let the write replace what the client means to
 * protect
 */
export function parseIfMatch(header: string | undefined, tags: string): readonly string[] | null {
  if (header === undefined) return null;
  if (parseEntityTags(header, true).length === 0)
    throw new BadRequest(`If-Match must be a list of quoted ${tags} or *`);
  return parseEntityTags(header);
}
