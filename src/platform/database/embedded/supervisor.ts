import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../../config/index.js';
import { readPassword } from './cluster.js';
import { ask, type ConnectionTarget, embeddedTarget } from './connection-target.js';
import {
  errorCode,
  errorMessage,
  explained,
  holdsDataDirectory,
  locateDataDirectory,
} from './data-directory.js';
import { type Postmaster, readSignature, type ServerExit } from './previous-run.js';
import { endRun, startRun } from './run.js';
import { prepareServer, type Server } from './server.js';
import type { Log } from './socket-directory.js';

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  readonly log: Log;
  /** Called once when the server cannot be kept running; from then on there is no database. */
  readonly onFatal: (error: Error) => void;
}

/** Number of restarts within this period before the supervisor gives up. */
const RESTARTS = 5;
const RESTARTS_WITHIN_MS = 60_000;
const FIRST_PAUSE_MS = 100;

/**
 * Starts the database under DATA_DIR, creating it if it is missing, and resolves when it accepts connections. However this
 * process ends, the server shuts down with it. The caller must hold the data directory (`lockDataDirectory`): a server found
 * there was left behind and is stopped.
 * @throws OperatorError when the machine or DATA_DIR does not allow it
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { dataDir, log, onFatal } = options;
  if (process.platform === 'win32') {
    throw new OperatorError(
      'There is no embedded PostgreSQL on Windows; set DATABASE_URL to a PostgreSQL of your own.',
    );
  }
  const isHeld = await holdsDataDirectory(dataDir);
  if (!isHeld) throw new Error('startEmbeddedPostgres without lockDataDirectory');
  try {
    const postgres = new EmbeddedPostgres(await prepareServer(dataDir, log), onFatal);
    await postgres.start();
    return postgres;
  } catch (error) {
    throw explained(error, dataDir);
  }
}

/** A PostgreSQL server that runs as a child of this process and is restarted when it crashes. */
export class EmbeddedPostgres {
  private readonly stopping = new AbortController();
  private readonly ends: number[] = [];
  private postmaster: Postmaster | undefined;
  private restarting: Promise<void> = Promise.resolve();
  private stopped: Promise<void> | undefined;

  constructor(
    private readonly server: Server,
    private readonly onFatal: (error: Error) => void,
  ) {}

  /** Does not change across restarts. */
  get target(): ConnectionTarget {
    return this.server.target;
  }

  async start(): Promise<void> {
    const postmaster = await startRun(this.server, this.stopping.signal);
    this.postmaster = postmaster;
    void postmaster.exit.then((exit) => {
      this.postmaster = undefined;
      if (this.stopping.signal.aborted) return;
      this.restarting = this.restart(exit);
    });
  }

  /** Shuts the server down and waits for its exit; a second call waits for the same exit. Never rejects. */
  stop(): Promise<void> {
    return (this.stopped ??= this.shutDown());
  }

  private async shutDown(): Promise<void> {
    this.stopping.abort();
    await this.restarting;
    if (this.postmaster !== undefined) await endRun(this.postmaster, this.server.log);
  }

  private async restart({ status }: ServerExit): Promise<void> {
    const { log } = this.server;
    log({ level: 'warn', message: 'PostgreSQL exited unexpectedly; restarting it', status });
    const since = performance.now();
    for (let failure: unknown; ;) {
      const ends = this.countEnd();
      if (ends > RESTARTS) {
        const times = `PostgreSQL exited ${ends} times within a minute`;
        this.onFatal(new Error(times, { cause: failure }));
        return;
      }
      try {
        const pause = ends === 1 ? 0 : FIRST_PAUSE_MS * 2 ** (ends - 2);
        await delay(pause, undefined, { signal: this.stopping.signal });
        await this.start();
        const milliseconds = Math.round(performance.now() - since);
        log({ level: 'info', message: 'PostgreSQL is running again', milliseconds });
        return;
      } catch (error) {
        if (this.stopping.signal.aborted) return;
        failure = error;
        log({ level: 'warn', message: 'PostgreSQL could not be restarted', reason: errorMessage(error) });
      }
    }
  }

  /** @returns the number of exits within the last minute, including this one */
  private countEnd(): number {
    const now = performance.now();
    this.ends.push(now);
    while ((this.ends[0] ?? now) < now - RESTARTS_WITHIN_MS) this.ends.shift();
    return this.ends.length;
  }
}

/** How long to wait for a server that is starting or shutting down. */
const SETTLED_WITHIN_MS = 15_000;

/**
 * Finds the database of a running service that uses the same data directory.
 * @returns null when none runs there
 * @throws OperatorError when this user may not access it
 */
export async function runningEmbeddedPostgres(dataDir: string): Promise<ConnectionTarget | null> {
  try {
    return await findRunning(dataDir);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    if (errorCode(error) !== 'EACCES') throw error;
    throw new OperatorError(
      `The database in ${dataDir} belongs to another user; run this command as the user who runs the service.`,
      { cause: error },
    );
  }
}

async function findRunning(dataDir: string): Promise<ConnectionTarget | null> {
  const data = await locateDataDirectory(dataDir);
  const deadline = performance.now() + SETTLED_WITHIN_MS;
  for (;;) {
    const signature = await readSignature(data);
    // Danger: the server of the original of a copied directory accepts the same password.
    if (!signature?.isOfThisCluster || signature.socketDirectory === '') return null;
    const target = embeddedTarget(signature.socketDirectory, await readPassword(data));
    const answer = await ask(target);
    if (answer === 'ready') return target;
    if (answer === 'absent' || performance.now() > deadline) return null;
    await delay(50);
  }
}
