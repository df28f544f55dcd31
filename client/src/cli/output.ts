import type { Writable } from 'node:stream';

/** What can do harm in a terminal: control characters, and marks that reorder or hide text. */
const UNSAFE = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Text from disks and services, such as names of files, as it may be shown: what a terminal would obey is escaped. */
export const shown = (text: string): string =>
  text.replace(UNSAFE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);

/** The same in JSON, which stays the same document: its own line breaks are no part of a text. */
const json = (value: unknown, indent?: number): string =>
  JSON.stringify(value, undefined, indent).replace(
    UNSAFE_IN_JSON,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** JSON escapes the control characters of ASCII and halves of pairs itself. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

export interface OutputOptions {
  readonly json: boolean;
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
}

/**
 * What a command prints. On stdout there is the result alone: text for people, or one JSON document, or JSON lines for
 * `watch`. Everything else goes to stderr.
 */
export class Output {
  private hasProgress = false;

  constructor(private readonly options: OutputOptions) {}

  get isJson(): boolean {
    return this.options.json;
  }

  /** Whether somebody watches stdout. */
  get isTerminal(): boolean {
    return this.options.stdout.isTTY === true;
  }

  /** The result of a one-shot command, once: as a document, or as lines for people. */
  result(document: unknown, lines: readonly string[]): void {
    this.clearProgress();
    const text = this.isJson ? json(document, 2) : lines.map(shown).join('\n');
    if (text !== '') this.options.stdout.write(`${text}\n`);
  }

  /** One JSON line. */
  line(event: unknown): void {
    this.options.stdout.write(`${json(event)}\n`);
  }

  /** A line of text on stdout, of a command that goes on. */
  text(line: string): void {
    this.clearProgress();
    this.options.stdout.write(`${shown(line)}\n`);
  }

  /** A remark for people. */
  note(line: string): void {
    this.clearProgress();
    this.options.stderr.write(`${shown(line)}\n`);
  }

  /** What is being done, in one line that the next one replaces; on a terminal alone. */
  progress(line: string): void {
    const { stderr, json } = this.options;
    if (json || stderr.isTTY !== true) return;
    const width = (stderr.columns ?? 80) - 1;
    stderr.write(`\r\u001b[K${Array.from(shown(line)).slice(0, width).join('')}`);
    this.hasProgress = true;
  }

  clearProgress(): void {
    if (this.hasProgress) this.options.stderr.write('\r\u001b[K');
    this.hasProgress = false;
  }
}
