import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { lockDataDirectory } from '../../../src/platform/database/embedded/index.js';
import type { Postmaster } from '../../../src/platform/database/embedded/previous-run.js';
import { endRun, startRun } from '../../../src/platform/database/embedded/run.js';
import { prepareServer, type Server } from '../../../src/platform/database/embedded/server.js';

/** On a real disk, so that a kill meets writes that wait for it. */
export const DISK = process.env.TEST_DISK ?? tmpdir();

const PATIENCE = new AbortController().signal;

/** A PostgreSQL that waits for its disk like the embedded one, and can be killed. Only `start` starts it. */
export class OwnPostgres {
  private postmaster: Postmaster | undefined;
  private client: pg.Client | undefined;

  private constructor(
    private readonly dataDir: string,
    private readonly server: Server,
  ) {}

  static async start(): Promise<OwnPostgres> {
    const dataDir = await mkdtemp(join(DISK, 'sync-crash-postgres-'));
    await lockDataDirectory(dataDir);
    const postgres = new OwnPostgres(dataDir, await prepareServer(dataDir, () => undefined));
    await postgres.start();
    return postgres;
  }

  /** Value for DATABASE_URL. */
  get url(): string {
    const { user, password, host, port, database } = this.server.target;
    return `postgres://${user}:${encodeURIComponent(password)}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
  }

  /** Resolves when it accepts connections, recovered from a crash. */
  async start(): Promise<void> {
    this.postmaster = await startRun(this.server, PATIENCE);
  }

  /** Kills the server and all its children at once. */
  async kill(): Promise<void> {
    const { postmaster } = this;
    // Stopped first: a child forked after the listing could wait for ever and keep the cluster in use.
    process.kill(await this.postmasterId(), 'SIGSTOP');
    await this.signal('SIGKILL');
    await postmaster?.exit;
    this.client = undefined;
  }

  async signal(signal: NodeJS.Signals): Promise<void> {
    for (const pid of await this.processes()) {
      try {
        process.kill(pid, signal);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // it has just ended
      }
    }
  }

  /** Reads the rows directly, bypassing the service. */
  readonly query = async <Row = Record<string, unknown>>(
    sql: string,
    values: unknown[] = [],
  ): Promise<Row[]> => {
    if (!this.client) {
      this.client = new pg.Client(this.server.target);
      this.client.on('error', () => undefined);
      await this.client.connect();
    }
    return (await this.client.query(sql, values)).rows as Row[];
  };

  async remove(): Promise<void> {
    await this.client?.end();
    if (this.postmaster) await endRun(this.postmaster, () => undefined);
    await rm(this.dataDir, { recursive: true, force: true });
  }

  /** The postmaster first: it must not react to the end of its children. */
  private async processes(): Promise<number[]> {
    const postmaster = await this.postmasterId();
    const children: number[] = [];
    for (const name of (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry))) {
      const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
      const [, parent] = /^\d+ \(.*\) \S (\d+)/s.exec(stat) ?? [];
      if (Number(parent) === postmaster) children.push(Number(name));
    }
    return [postmaster, ...children];
  }

  private async postmasterId(): Promise<number> {
    const signature = await readFile(join(this.server.data.cluster, 'postmaster.pid'), 'utf8');
    return Number(signature.split('\n')[0]);
  }
}
