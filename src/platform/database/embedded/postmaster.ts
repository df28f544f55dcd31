import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { launch, type LaunchOptions } from './launcher.js';
import { isHeldByAnother, levelOf, type Log, readServerLine } from './server-log.js';

/** How long a server may take to shut down cleanly before it is stopped immediately, regardless of who requested the shutdown. */
export const CLEAN_END_WITHIN_MS = 10_000;

/**
 * The parent process of the server. Its guard reads signal names for the server from its input; end of input, which occurs
 * however this process ends, triggers a fast shutdown. Signals to the whole service (Ctrl-C in a terminal, SIGTERM from a
 * service manager) are ignored here: the service drains first and then stops the server itself. Descriptor 3 is the cluster's
 * lock, only for the server and its children. DANGER: if PostgreSQL is asked to shut down while it restarts after the crash of
 * a backend, it waits forever for its checkpointer, which never receives the request. A fast shutdown that takes longer than
 * CLEAN_END_WITHIN_MS therefore becomes an immediate one. The guard checks every second that its server is alive, because it
 * may outlive the server when their parent was killed.
 */
const GUARDED = `
trap '' HUP INT TERM
exec 4<&0
"$@" </dev/null 4<&- &
server=$!
exec 2>/dev/null
{
  while read -r signal; do kill -s "$signal" "$server"; done
  kill -s INT "$server"
  seconds=${CLEAN_END_WITHIN_MS / 1_000}
  while [ "$seconds" -gt 0 ]; do
    sleep 1
    kill -0 "$server" || exit
    seconds=$((seconds - 1))
  done
  kill -s QUIT "$server"
} <&4 3<&- 4<&- &
guard=$!
exec 3<&- 4<&-
wait "$server"
status=$?
kill -s KILL "$guard"
exit "$status"
`;

/** How long the last processes of a crashed server may take to notice. */
const LINGERING_MS = 5_000;

export interface ServerExit {
  /** The server's exit status, 128 or more for a signal; null when its parent was killed. */
  readonly status: number | null;
  /** Whether it failed to start because another server, or the remains of one, holds the data directory. */
  readonly isRefused: boolean;
  /** The last fault that it reported; empty if none. */
  readonly lastFault: string;
}

/** One run of the server, from start to exit. */
export class Postmaster {
  /** Settles when the run is over: the server has exited and, as far as can be observed, so have all its processes. */
  readonly exit: Promise<ServerExit>;
  private isRefused = false;
  private lastFault = '';

  private constructor(
    private readonly parent: ChildProcess,
    private readonly words: Writable,
    private readonly log: Log,
  ) {
    words.on('error', () => undefined); // the guard has exited, so the run is over and `exit` settles
    this.exit = this.waitForEnd();
  }

  /**
   * Starts the server. The server inherits the lock's descriptor, so the caller can close its own copy when this returns.
   * @throws when there is no shell to start it
   */
  static async start(
    manner: LaunchOptions,
    command: readonly string[],
    lock: number | undefined,
    log: Log,
  ): Promise<Postmaster> {
    const child = launch(manner, ['/bin/sh', '-c', GUARDED, 'sh', ...command], {
      stdio: ['pipe', 'ignore', 'pipe', lock ?? 'ignore'],
      detached: true,
    });
    await once(child, 'spawn');
    const { stdin, stderr } = child;
    if (stdin === null || stderr === null) throw new Error('a piped child without pipes');
    const postmaster = new Postmaster(child, stdin, log);
    createInterface({ input: stderr }).on('line', (line) => postmaster.hear(line));
    return postmaster;
  }

  /** INT: disconnect all clients and shut down cleanly. QUIT: stop immediately; the next start runs recovery. */
  signal(name: 'INT' | 'QUIT'): void {
    this.words.write(`${name}\n`);
  }

  private async waitForEnd(): Promise<ServerExit> {
    const silence = once(this.parent, 'close'); // no process holds the log's pipe any longer
    const [status] = (await once(this.parent, 'exit')) as [number | null];
    const timer = new AbortController();
    const patience = delay(LINGERING_MS, undefined, { signal: timer.signal }).catch(() => undefined);
    await Promise.race([silence, patience]);
    timer.abort();
    return { status, isRefused: this.isRefused, lastFault: this.lastFault };
  }

  private hear(line: string): void {
    if (line.startsWith('\t')) return; // continuation of the previous message
    const message = readServerLine(line);
    if (isHeldByAnother(message)) this.isRefused = true;
    if (['FATAL', 'PANIC'].includes(message.severity) || message.code === '') this.lastFault = message.text;
    const level = levelOf(message);
    if (level === undefined) return;
    this.log({ level, message: message.text, source: 'postgres', code: message.code || undefined });
  }
}
