import type { Writable } from 'node:stream';

/** Characters that can do harm in a terminal: control characters, and marks that reorder or hide text. */
const UNSAFE = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Escapes text from disks and services, such as file names, for display in a terminal. */
export const shown = (text: string): string =>
  text.replace(UNSAFE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);

/** The same for JSON. Line breaks between values stay, so that the document is the same. */
const json = (value: unknown, indent?: number): string =>
  JSON.stringify(value, undefined, indent).replace(
    UNSAFE_IN_JSON,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** Without the characters that JSON.stringify escapes itself: ASCII control characters and unpaired surrogates. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

export interface OutputOptions {
  readonly json: boolean;
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
}

/**
 * Prints what a command has to say. stdout has the result only: text, one JSON document, or JSON lines for `watch`.
 * Everything else goes to stderr.
 */
export class Output {
  private hasProgress = false;

  constructor(private readonly options: OutputOptions) {}

  get isJson(): boolean {
    return this.options.json;
  }

  /** Whether stdout is a terminal. */
  get isTerminal(): boolean {
    return this.options.stdout.isTTY === true;
  }

  /** Prints the result of a one-shot command, once: as a JSON document or as lines of text. */
  result(document: unknown, lines: readonly string[]): void {
    this.clearProgress();
    const text = this.isJson ? json(document, 2) : lines.map(shown).join('\n');
    if (text !== '') this.options.stdout.write(`${text}\n`);
  }

  /** Prints one JSON line. */
  line(event: unknown): void {
    this.options.stdout.write(`${json(event)}\n`);
  }

  /** Prints a line of text on stdout, for a long-running command. */
  text(line: string): void {
    this.clearProgress();
    this.options.stdout.write(`${shown(line)}\n`);
  }

  /** Prints a note for users. */
  note(line: string): void {
    this.clearProgress();
    this.options.stderr.write(`${shown(line)}\n`);
  }

  /** Shows the current step in one line, which the next call replaces. Only on a terminal. */
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
