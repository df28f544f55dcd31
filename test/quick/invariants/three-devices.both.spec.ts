import { appendFile, mkdir, mkdtemp, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { compare } from '../../../examples/demo/mirror.js';
import { deriveVaultKeys, newMasterKey, Session } from '../../../client/src/core/index.js';
import { around, FolderDevice } from '../../kit/folder-device.js';
import { startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { expectReplayLaw } from '../../kit/oracles.js';
import { Random } from '../../kit/random.js';
import { rounds } from '../../kit/rounds.js';

const RUNS = rounds(1, 10);
const STEPS = 50;
const FIRST_SEED = Number(process.env['SEED'] ?? 1);
const NAMES = ['laptop', 'phone', 'tablet'] as const;
const PATHS = ['a.md', 'b.md', 'd/a.md', 'd/b.md', 'd/e/f.md', 'é ü.md'];
const FAULT = 'an injected fault';

type Name = (typeof NAMES)[number];

describe('three devices', () => {
  let service: TestService;
  let users = 0;
  const workspace = async (): Promise<TestWorkspace> =>
    (await service.user(`three-devices-${++users}`)).workspace();
  beforeAll(async () => {
    service = await startService({ isAtBaseUrl: true, env: { LOG_LEVEL: 'silent' } });
  });
  afterAll(() => service.close());

  it.each(Array.from({ length: RUNS }, (_, i) => FIRST_SEED + i))(
    'have equal files after random edits, renames, deletions, crashes and syncs; no edit is lost (seed %i)',
    async (seed) => {
      const home = await mkdtemp(join(tmpdir(), 'sync-devices-'));
      const run = await Run.begin(service.url, home, new Random(seed), await workspace());
      for (let step = 0; step < STEPS; step++) await run.step();
      await run.settle();
      for (const other of ['phone', 'tablet']) {
        expect((await compare(join(home, 'laptop'), join(home, other))).differences).toEqual([]);
      }
      expect(await run.lostLines()).toEqual([]);
      await run.expectServerInOrder();
      await rm(home, { recursive: true, force: true });
    },
  );

  it('detect a file that replaced another one, although size and mtime are the same', async () => {
    const home = await mkdtemp(join(tmpdir(), 'sync-devices-'));
    const run = await Run.begin(service.url, home, new Random(FIRST_SEED), await workspace());
    for (const path of ['a.md', 'b.md']) {
      await writeFile(join(home, 'laptop', path), `the text of ${path}`);
      await utimes(join(home, 'laptop', path), 1_000_000_000, 1_000_000_000);
    }
    await run.settle();
    await rm(join(home, 'laptop', 'a.md'));
    await rename(join(home, 'laptop', 'b.md'), join(home, 'laptop', 'a.md'));
    await run.settle();
    expect(await run.filesOf('phone')).toEqual(['a.md']);
    expect(await readFile(join(home, 'phone', 'a.md'), 'utf8')).toBe('the text of b.md');
    await rm(home, { recursive: true, force: true });
  });
});

class Run {
  /** Every line that was ever written, and the lines of deleted files. */
  private readonly written = new Set<string>();
  private readonly deleted = new Set<string>();
  private readonly devices: ReadonlyMap<Name, FolderDevice>;
  private faultRate = 0;

  private constructor(
    private readonly home: string,
    private readonly random: Random,
    private readonly workspace: TestWorkspace,
    device: (name: Name, maybeFail: () => void) => FolderDevice,
  ) {
    this.devices = new Map(NAMES.map((name) => [name, device(name, () => this.maybeFail())]));
  }

  static async begin(url: string, home: string, random: Random, workspace: TestWorkspace): Promise<Run> {
    const session = Session.withAccessToken(url, workspace.user.token);
    const keys = await deriveVaultKeys(newMasterKey());
    /** Requests may be lost before they are sent, and answers after the service has acted on them. */
    const device = (name: Name, maybeFail: () => void): FolderDevice =>
      new FolderDevice(name, home, {
        ...{ session, workspaceId: workspace.id, keys },
        remote: (remote) => around(remote, { before: maybeFail, after: maybeFail }),
      });
    return new Run(home, random, workspace, device);
  }

  async step(): Promise<void> {
    const { random } = this;
    const name = random.pick(NAMES);
    const kind = random.next();
    const files = await this.filesOf(name);
    if (kind < 0.35) await this.append(name, random.pick(PATHS));
    else if (kind < 0.43 && files.length > 0) await this.remove(name, random.pick(files));
    else if (kind < 0.5 && files.length > 0) await this.move(name, random.pick(files), random.pick(PATHS));
    else if (kind < 0.53) await this.forgetState(name);
    else if (kind < 0.65) await Promise.all(NAMES.map((each) => this.sync(each)));
    else await this.syncWithFaults(name);
  }

  /** Syncs without faults, in as many rounds as the devices can need. */
  async settle(): Promise<void> {
    for (let round = 0; round < 3; round++) {
      for (const name of NAMES) expect((await this.device(name).sync()).leftOver).toEqual([]);
    }
  }

  async lostLines(): Promise<string[]> {
    const kept = new Set<string>();
    for (const path of await this.filesOf('laptop')) {
      for (const line of await this.linesOf('laptop', path)) kept.add(line);
    }
    return [...this.written].filter((line) => !kept.has(line) && !this.deleted.has(line));
  }

  async expectServerInOrder(): Promise<void> {
    await expectReplayLaw(this.workspace);
  }

  private async append(name: Name, path: string): Promise<void> {
    const line = `line ${this.written.size} of ${name}`;
    const file = join(this.home, name, path);
    await mkdir(dirname(file), { recursive: true });
    await appendFile(file, `${line}\n`);
    this.written.add(line);
  }

  private async remove(name: Name, path: string): Promise<void> {
    for (const line of await this.linesOf(name, path)) this.deleted.add(line);
    await rm(join(this.home, name, path));
  }

  private async move(name: Name, from: string, to: string): Promise<void> {
    if ((await this.filesOf(name)).includes(to)) return;
    await mkdir(dirname(join(this.home, name, to)), { recursive: true });
    await rename(join(this.home, name, from), join(this.home, name, to));
  }

  /** As after a new installation over an old folder. */
  private async forgetState(name: Name): Promise<void> {
    await rm(join(this.home, `${name}.sync`), { recursive: true, force: true });
  }

  /** A sync whose requests or answers get lost; the next one begins with what it had saved. */
  private async syncWithFaults(name: Name): Promise<void> {
    this.faultRate = 0.08;
    await this.sync(name);
    this.faultRate = 0;
  }

  /** A fault may end a sync early, but must not lose anything. */
  private async sync(name: Name): Promise<void> {
    try {
      await this.device(name).sync();
    } catch (error) {
      if ((error as Error).message !== FAULT) throw error;
    }
  }

  private device(name: Name): FolderDevice {
    return this.devices.get(name)!;
  }

  private maybeFail(): void {
    if (this.faultRate > 0 && this.random.next() < this.faultRate) throw new Error(FAULT);
  }

  async filesOf(name: Name): Promise<string[]> {
    return [...(await this.device(name).files()).keys()];
  }

  private async linesOf(name: Name, path: string): Promise<string[]> {
    return (await readFile(join(this.home, name, path), 'utf8')).split('\n').filter(Boolean);
  }
}
