import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { ConfirmationNeeded, Interrupted, SecretNeeded } from './errors.js';
import { type Output, shown } from './output.js';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Asks on the terminal, or reads lines from standard input when that is not a terminal. Does not echo secrets. Arguments never
 * contain them, because other users of the machine can see those; scripts pass them in environment variables.
 */
export class Prompt {
  private lines: { readonly reader: Interface; readonly iterator: AsyncIterator<string, void> } | undefined;

  constructor(
    private readonly output: Output,
    private readonly env: Environment,
    private readonly isYes: boolean,
    private readonly stdin: NodeJS.ReadStream = process.stdin,
  ) {}

  /** Whether the user can be asked. */
  get isInteractive(): boolean {
    return this.stdin.isTTY && process.stderr.isTTY;
  }

  /** @param variable an environment variable that replaces the question */
  async secret(question: string, variable: string): Promise<string> {
    return this.env[variable] ?? (await this.ask(question, variable, false));
  }

  /** Asks twice, because a typing error would lock the user out. */
  async newSecret(question: string, variable: string): Promise<string> {
    const given = this.env[variable];
    if (given !== undefined) return given;
    for (;;) {
      const first = await this.ask(question, variable, false);
      if ((await this.ask('Once more: ', variable, false)) === first) return first;
      if (!this.isInteractive) throw new SecretNeeded('these are two different passwords');
      this.output.note('These are two different passwords.');
    }
  }

  /** @param variable an environment variable that replaces the question */
  async line(question: string, variable?: string): Promise<string> {
    return (variable === undefined ? undefined : this.env[variable]) ?? this.ask(question, variable, true);
  }

  /** @throws ConfirmationNeeded when the session is not interactive and `--yes` was not given */
  async confirm(question: string): Promise<boolean> {
    if (this.isYes) return true;
    if (!this.isInteractive) throw new ConfirmationNeeded(`${question} Say so by --yes.`);
    return /^y(es)?$/i.test((await this.ask(`${question} [y/N] `, undefined, true)).trim());
  }

  close(): void {
    this.lines?.reader.close();
  }

  private async ask(question: string, variable: string | undefined, isVisible: boolean): Promise<string> {
    this.output.clearProgress();
    const text = shown(question); // it may name files
    const answer = this.isInteractive ? await this.typed(text, isVisible) : await this.nextLine(text);
    if (answer !== undefined) return answer;
    process.stderr.write('\n');
    throw new SecretNeeded(
      variable === undefined ? 'an answer is needed' : `an answer is needed, or the variable ${variable}`,
    );
  }

  private typed(question: string, isVisible: boolean): Promise<string | undefined> {
    const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
    const output = isVisible ? process.stderr : silent;
    const reader = createInterface({ input: this.stdin, output, terminal: true });
    // Print after echo is off: the user may type as soon as the prompt appears.
    if (isVisible) reader.setPrompt(question);
    else process.stderr.write(question);
    reader.prompt();
    return new Promise((resolve, reject) => {
      reader.once('line', (line) => {
        resolve(line);
        reader.close();
        if (!isVisible) process.stderr.write('\n');
      });
      reader.once('SIGINT', () => {
        reject(new Interrupted());
        reader.close();
      });
      reader.once('close', () => resolve(undefined));
    });
  }

  private async nextLine(question: string): Promise<string | undefined> {
    process.stderr.write(question);
    if (!this.lines) {
      const reader = createInterface({ input: this.stdin, terminal: false });
      this.lines = { reader, iterator: reader[Symbol.asyncIterator]() };
    }
    const next = await this.lines.iterator.next();
    return next.done === true ? undefined : next.value;
  }
}
