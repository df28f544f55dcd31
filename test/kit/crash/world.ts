import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import supertest from 'supertest';
import { expectExactUsage, TestAssets } from '../assets.js';
import { TestUser } from '../index.js';
import { expectDenseLogs } from '../oracles.js';
import { type ServiceProcess, startProcess } from '../process.js';
import { TokenHistory, WorkspaceHistory } from './history.js';
import { DISK, OwnPostgres } from './own-postgres.js';
import { type Tally, Writer } from './writer.js';

const WORKSPACES = 3;
const WRITERS_EACH = 4;
/** After these rounds writers move to new workspaces, because checking one takes longer each time. */
const ROUNDS_OF_A_WORKSPACE = 5;

/** A service, its PostgreSQL, and clients that remember what was acknowledged. */
export class World {
  readonly histories: WorkspaceHistory[] = [];
  readonly tokens = new TokenHistory();
  private current: { history: WorkspaceHistory; writers: Writer[] }[] = [];
  private rounds = 0;
  alice: TestUser;

  private constructor(
    readonly dataDir: string,
    readonly postgres: OwnPostgres,
    public service: ServiceProcess,
    private readonly seed: number,
  ) {}

  static async start(seed: number): Promise<World> {
    const dataDir = await mkdtemp(join(DISK, 'sync-crash-'));
    const postgres = await OwnPostgres.start();
    const service = await startProcess({ DATA_DIR: dataDir, DATABASE_URL: postgres.url });
    const world = new World(dataDir, postgres, service, seed);
    await world.logIn();
    await world.alice.post('/api/v1/subscription/trial').expect(200);
    return world;
  }

  async logIn(): Promise<void> {
    this.alice = await TestUser.logIn(this.service.url, 'alice');
  }

  async restartService(): Promise<void> {
    this.service = await startProcess({ DATA_DIR: this.dataDir, DATABASE_URL: this.postgres.url });
  }

  /** Resolves when the service is ready. @returns the time that it took, in ms */
  async ready(): Promise<number> {
    const since = performance.now();
    while ((await supertest(this.service.url).get('/health/ready')).status !== 200) await pause(20);
    return performance.now() - since;
  }

  /** Lets clients work until `fault` has finished. */
  async storm(fault: (tally: Readonly<Tally>) => Promise<void>): Promise<Tally> {
    if (this.rounds++ % ROUNDS_OF_A_WORKSPACE === 0) await this.moveOn();
    const tally: Tally = { acknowledged: 0, acknowledgedKinds: new Map(), unheard: [], wrong: [] };
    let isOver = false;
    const writers = this.current.flatMap(({ writers }) => writers);
    const writing = Promise.all(writers.map((writer) => writer.write(this.alice, tally, () => isOver)));
    await fault(tally);
    isOver = true;
    await writing;
    expect(tally.wrong).toEqual([]);
    return tally;
  }

  /**
   * Compares the service with what the clients know, before and after they repeat what got no answer.
   * @returns how many of those had happened
   */
  async settle(tally: Tally): Promise<number> {
    await this.quiet();
    await expectDenseLogs(this.postgres);
    await expectExactUsage(this.postgres);
    const histories = this.current.map(({ history }) => history);
    const sights = await Promise.all(histories.map((history) => history.look(this.alice)));
    histories.forEach((history, n) => history.expectIn(sights[n]!));
    await this.tokens.expectIn(this.alice);

    let happened = 0;
    for (const act of tally.unheard) {
      const sight = sights[histories.indexOf(act.history ?? histories[0]!)]!;
      if (await act.settle(this.alice, sight)) happened += 1;
    }
    for (const history of histories) history.expectIn(await history.look(this.alice));
    await this.tokens.expectIn(this.alice);
    for (const history of histories) await history.expectBytes(this.alice);
    await this.expectUsage();
    return happened;
  }

  /** Expects all that was ever acknowledged. */
  async expectAll(): Promise<void> {
    for (const history of this.histories) history.expectIn(await history.look(this.alice));
    await this.tokens.expectIn(this.alice);
    await this.expectUsage();
  }

  /** Expects a row for all bytes on disk: without one they would never be removed. */
  async expectNothingUnnamed(): Promise<void> {
    const rows = await this.postgres.query<{ id: string }>(`SELECT id FROM blobs WHERE location = 'disk'`);
    const named = new Set(rows.map(({ id }) => id));
    const root = join(this.dataDir, 'blobs');
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile() && entry.parentPath !== root) // the root has the id of the store
      .map(({ name }) => name.replace(/\.tmp$/, ''));
    expect(files.filter((name) => !named.has(name))).toEqual([]);
  }

  async end(): Promise<void> {
    await this.service.end('SIGTERM');
    await this.postgres.remove();
    await rm(this.dataDir, { recursive: true, force: true });
  }

  private async moveOn(): Promise<void> {
    this.current = [];
    for (let n = 0; n < WORKSPACES; n++) {
      const history = new WorkspaceHistory((await this.alice.workspace()).id);
      this.histories.push(history);
      const writers = Array.from({ length: WRITERS_EACH }, (_, writer) => {
        const id = `${this.histories.length}-${writer}`;
        return new Writer(
          id,
          this.seed * 10_000 + this.histories.length * 100 + writer,
          history,
          this.tokens,
        );
      });
      this.current.push({ history, writers });
    }
  }

  /** The database may still execute what a killed service has sent. */
  private async quiet(): Promise<void> {
    const busy = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
      AND state <> 'idle' AND pid <> pg_backend_pid()`;
    while ((await this.postgres.query(busy)).length > 0) await pause(5);
  }

  private async expectUsage(): Promise<void> {
    const sizes = this.histories.flatMap(({ assets }) => [...assets.values()].map(({ length }) => length));
    const { usedBytes } = await TestAssets.of(this.histories[0]!.as(this.alice)).usage();
    expect(usedBytes).toBe(sizes.reduce((sum, size) => sum + size, 0));
  }
}
