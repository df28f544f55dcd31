import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';

/** Reads secrets from the environment, the terminal (without showing what is typed) or the lines of standard input. */
export class Prompt {
  private readonly reader: Interface;
  private readonly lines: AsyncIterator<string, void>;

  constructor() {
    const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
    this.reader = createInterface({ input: process.stdin, output: silent, terminal: process.stdin.isTTY });
    this.lines = this.reader[Symbol.asyncIterator]();
  }

  /** @param variable of the environment, which replaces the question */
  async secret(question: string, variable: string): Promise<string> {
    return process.env[variable] ?? (await this.line(question));
  }

  /** Asks twice, because a typing error would lock its owner out. */
  async newSecret(question: string, variable: string): Promise<string> {
    const given = process.env[variable];
    if (given !== undefined) return given;
    const first = await this.line(question);
    if ((await this.line('Once more: ')) !== first) throw new Error('these are two different passwords');
    return first;
  }

  async line(question: string): Promise<string> {
    process.stderr.write(question);
    const next = await this.lines.next();
    process.stderr.write('\n');
    if (next.done === true) throw new Error('an answer is needed');
    return next.value;
  }

  close(): void {
    this.reader.close();
  }
}
