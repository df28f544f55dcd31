import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { program } from './root.js';

interface Call {
  readonly id: number;
  readonly command: string;
  readonly value: unknown;
}

interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** A process of this storm that runs commands. */
export class Worker {
  private calls = 0;
  private readonly open = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void }
  >();
  private readonly child: ChildProcess;

  /** @param name of a built program in this directory */
  constructor(name: string) {
    this.child = fork(program(name), { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.child.on('message', ({ id, value, error }: Reply) => {
      const call = this.open.get(id);
      this.open.delete(id);
      if (error === undefined) call?.resolve(value);
      else call?.reject(new Error(error));
    });
    this.child.once('exit', (code) => {
      for (const { reject } of this.open.values()) reject(new Error(`${name} exited with ${code}`));
    });
  }

  /** @throws the command's error, or an error when the process ends first */
  call<T = void>(command: string, value: unknown = null): Promise<T> {
    return new Promise((resolve, reject) => {
      const id = this.calls++;
      this.open.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.child.send({ id, command, value } satisfies Call, (error) => error && reject(error));
    });
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL'); // it stores nothing
    await once(this.child, 'exit');
  }
}

/** The other end: runs the commands that this process receives, and exits when the sending process ends. */
export function serve(commands: Readonly<Record<string, (value: never) => unknown>>): void {
  process.on('message', ({ id, command, value }: Call) => {
    const run = new Promise((resolve) => resolve(commands[command]?.(value as never)));
    void run.then(
      (result) => process.send?.({ id, value: result } satisfies Reply),
      (error: unknown) => process.send?.({ id, error: String((error as Error).stack) } satisfies Reply),
    );
  });
  process.once('disconnect', () => process.exit(0));
}
