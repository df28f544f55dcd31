import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { lockDataDirectory } from '../../../src/platform/database/embedded/index.js';
import type { Postmaster } from '../../../src/platform/database/embedded/previous-run.js';
import { endRun, startRun } from '../../../src/platform/database/embedded/run.js';
import { prepareServer, type Server } from '../../../src/platform/database/embedded/server.js';

/** Where writes wait for a disk, so that a kill meets them as they do. */
export const DISK = process.env.TEST_DISK ?? tmpdir();

const PATIENCE = new AbortController().signal;

/** A PostgreSQL of one's own that waits for its disk as the service's own does, to be killed. Nobody restarts it but `start`. */
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

  /** For DATABASE_URL. */
  get url(): string {
    const { user, password, host, port, database } = this.server.target;
    return `postgres://${user}:${encodeURIComponent(password)}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
  }

  /** Resolves when it takes connections, recovered from its crash. */
  async start(): Promise<void> {
    this.postmaster = await startRun(this.server, PATIENCE);
  }

  /** The server and all its children, at once. */
  async kill(): Promise<void> {
    const { postmaster } = this;
    // A child that it forks after its children were counted could wait for ever for what a killed one held, and hold the cluster.
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

  /** The postmaster first: it could not put things right any more when its children go. */
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
