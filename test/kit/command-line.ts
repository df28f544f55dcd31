import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { ROOT } from './deployment.js';
import { GIVE_UP_AFTER_MS } from './eventually.js';

const PROGRAM = join(ROOT, 'dist/client/src/cli/cloud-sync.js');

/** A document printed by `--json`. */
export type Document = Readonly<Record<string, unknown>>;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** A machine with its own home and one folder. Commands run as processes. */
export class Machine {
  readonly folder: string;

  constructor(
    readonly home: string,
    private readonly env: Readonly<Record<string, string>>,
  ) {
    this.folder = join(home, 'notes');
    mkdirSync(home, { recursive: true });
  }

  get stateHome(): string {
    return join(this.home, 'state/cloud-sync');
  }

  /** The state directory of the only folder. */
  get state(): string {
    const [name = ''] = readdirSync(this.stateHome);
    return join(this.stateHome, name);
  }

  start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Child {
    return this.spawn(process.execPath, [PROGRAM, ...args], env);
  }

  /** Runs a command on its own terminal, by `script` of util-linux. stdout has what the terminal shows. */
  onTerminal(args: readonly string[]): Child {
    const words = [process.execPath, PROGRAM, ...args].map((word) => `'${word}'`);
    return this.spawn('script', ['--quiet', '--return', '--command', words.join(' '), '/dev/null'], {});
  }

  private spawn(file: string, args: readonly string[], env: Readonly<Record<string, string>>): Child {
    return spawn(file, args, {
      cwd: this.home,
      env: {
        ...{ PATH: process.env.PATH ?? '', HOME: this.home, XDG_STATE_HOME: join(this.home, 'state') },
        ...{ ...this.env, ...env },
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  }

  /** Runs a command to its end, by default with empty standard input. */
  async run(args: readonly string[], env: Readonly<Record<string, string>> = {}, input = ''): Promise<Ended> {
    const child = this.start(args, env);
    child.stdin.end(input);
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, stdout, stderr };
  }

  /** Runs a command with `--json`. @returns its exit code and its only document */
  async json(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<Document & { code: number | null; stderr: string }> {
    const { code, stdout, stderr } = await this.run([...args, '--json'], env);
    return { code, stderr, ...(JSON.parse(stdout) as Document) };
  }

  watch(...args: string[]): Watch {
    return new Watch(this.start(['watch', this.folder, ...args]));
  }

  write(path: string, content: string | Uint8Array): void {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }

  rename(from: string, to: string): void {
    renameSync(join(this.folder, from), join(this.folder, to));
  }

  remove(path: string): void {
    rmSync(join(this.folder, path));
  }

  /** Every file of the folder except the client's own, as text. */
  files(): Record<string, string> {
    const names = readdirSync(this.folder, { recursive: true, encoding: 'utf8' });
    const files = names.filter((name) => !name.startsWith('.cloud-sync/'));
    const regular = files.filter((name) => statSync(join(this.folder, name)).isFile()).sort();
    return Object.fromEntries(regular.map((name) => [name, readFileSync(join(this.folder, name), 'utf8')]));
  }
}

/** A line of `watch`, with some of these facts. */
export interface WatchEvent {
  readonly event: string;
  readonly reasons?: readonly string[];
  readonly files?: number;
  readonly uploaded?: readonly string[];
  readonly downloaded?: readonly string[];
  readonly removedHere?: readonly string[];
  readonly deletedThere?: readonly string[];
  readonly conflicts?: readonly unknown[];
  readonly stopped?: string | null;
}

/** A running `watch` and its JSON lines. */
export class Watch {
  readonly events: WatchEvent[] = [];
  private readonly waiting = new Set<() => void>();
  private readonly ended: Promise<unknown[]>;
  private stderr = '';

  constructor(readonly child: Child) {
    this.ended = once(child, 'close');
    child.stderr.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.events.push(JSON.parse(line) as WatchEvent);
      for (const look of this.waiting) look();
    });
  }

  /** Returns the first event after a mark that matches. @throws with all events when the process ends first */
  async until(holds: (event: WatchEvent) => boolean, from = 0): Promise<WatchEvent> {
    const find = (): WatchEvent | undefined => this.events.slice(from).find(holds);
    const told = (): string => `${JSON.stringify(this.events)} ${this.stderr}`;
    let done = (): void => undefined;
    const found = new Promise<WatchEvent>((resolve, reject) => {
      const look = (): void => {
        const event = find();
        if (event) resolve(event);
      };
      const timer = setTimeout(() => reject(new Error(`not told in time: ${told()}`)), GIVE_UP_AFTER_MS);
      done = () => {
        this.waiting.delete(look);
        clearTimeout(timer);
      };
      this.waiting.add(look);
      look();
    });
    const over = this.ended.then(() => {
      const event = find();
      if (event) return event;
      throw new Error(`watch ended: ${told()}`);
    });
    return Promise.race([found, over]).finally(done);
  }

  /** The number of events so far. */
  get mark(): number {
    return this.events.length;
  }

  /** Waits for the end. */
  async over(): Promise<{ code: unknown; signal: unknown }> {
    const [code, signal] = await this.ended;
    return { code, signal };
  }

  /** Sends a signal and waits for the end. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<{ code: unknown; signal: unknown }> {
    this.child.kill(signal);
    return this.over();
  }
}
