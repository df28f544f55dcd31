import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openVault, setUpAccount, type Vault } from '../../examples/sync-folder/account.js';
import { SyncApi } from '../../examples/sync-folder/api.js';
import { Folder } from '../../examples/sync-folder/folder.js';
import { compare } from '../../examples/sync-folder/mirror.js';
import { DeviceState } from '../../examples/sync-folder/state.js';
import { SyncClient } from '../../examples/sync-folder/sync-client.js';
import { startService, type TestService } from '../kit/index.js';
import { expectReplayLaw } from '../kit/oracles.js';
import { Random } from '../kit/random.js';
import { TestUser } from '../kit/user.js';
import { TestWorkspace } from '../kit/workspace.js';

const RUNS = 10;
const STEPS = 50;
const FIRST_SEED = Number(process.env['SEED'] ?? 1);
const NAMES = ['laptop', 'phone', 'tablet'] as const;
const PATHS = ['a.md', 'b.md', 'd/a.md', 'd/b.md', 'd/e/f.md', 'é ü.md'];
const FAULT = 'an injected fault';

type Name = (typeof NAMES)[number];

describe('three devices', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ isAtBaseUrl: true, env: { LOG_LEVEL: 'silent' } });
  });
  afterAll(() => service.close());

  it.each(Array.from({ length: RUNS }, (_, i) => FIRST_SEED + i))(
    'end alike after random edits, renames, deletions, crashes and syncs, and no edit is lost (seed %i)',
    async (seed) => {
      const home = await mkdtemp(join(tmpdir(), 'sync-devices-'));
      const run = await Run.begin(service.url, home, new Random(seed));
      for (let step = 0; step < STEPS; step++) await run.step();
      await run.settle();
      for (const other of ['phone', 'tablet']) {
        expect((await compare(join(home, 'laptop'), join(home, other), new Set())).differences).toEqual([]);
      }
      expect(await run.lostLines()).toEqual([]);
      await run.expectServerInOrder();
      await rm(home, { recursive: true, force: true });
    },
  );

  it('detect a file that replaced another one, although size and mtime are the same', async () => {
    const home = await mkdtemp(join(tmpdir(), 'sync-devices-'));
    const run = await Run.begin(service.url, home, new Random(FIRST_SEED));
    for (const path of ['a.md', 'b.md']) {
      await writeFile(join(home, 'laptop', path), `the text of ${path}`);
      await utimes(join(home, 'laptop', path), 1_000_000_000, 1_000_000_000);
    }
    await run.settle();
    await rm(join(home, 'laptop', 'a.md'));
    await rename(join(home, 'laptop', 'b.md'), join(home, 'laptop', 'a.md'));
    await run.settle();
    expect(await readdir(join(home, 'phone'))).toEqual(['a.md']);
    expect(await readFile(join(home, 'phone', 'a.md'), 'utf8')).toBe('the text of b.md');
    await rm(home, { recursive: true, force: true });
  });
});

class Run {
  /** Every line that was ever written, and those that went with a file that somebody deleted. */
  private readonly written = new Set<string>();
  private readonly deleted = new Set<string>();
  private readonly clients = new Map<Name, SyncClient>();
  private faultRate = 0;

  private constructor(
    private readonly url: string,
    private readonly home: string,
    private readonly random: Random,
    private readonly vault: Vault,
    private readonly email: string,
  ) {}

  static async begin(url: string, home: string, random: Random): Promise<Run> {
    const account = await setUpAccount(url, join(home, 'account.json'), `seed ${random.seed}`);
    const run = new Run(url, home, random, await openVault(url, account), account.email);
    for (const name of NAMES) await run.open(name);
    return run;
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

  /** Without faults, until nothing can be left to do. */
  async settle(): Promise<void> {
    for (let round = 0; round < 3; round++) {
      for (const name of NAMES) await this.client(name).sync();
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
    const user = await TestUser.logIn(this.url, this.email.split('@')[0]!, this.email);
    await expectReplayLaw(new TestWorkspace(user, this.vault.workspaceId));
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
    await this.open(name);
  }

  /** A sync whose requests or answers get lost, and a client that may then start anew from what it had saved. */
  private async syncWithFaults(name: Name): Promise<void> {
    this.faultRate = 0.08;
    await this.sync(name);
    this.faultRate = 0;
    if (this.random.next() < 0.5) await this.open(name);
  }

  /** Others may be faster again and again, and faults may strike: both end a sync early, neither may lose anything. */
  private async sync(name: Name): Promise<void> {
    try {
      await this.client(name).sync();
    } catch (error) {
      if (!/keep changing|an injected fault/.test((error as Error).message)) throw error;
    }
  }

  private async open(name: Name): Promise<void> {
    const { vault, home } = this;
    const state = await DeviceState.open(join(home, `${name}.sync`, 'state.json'), vault.workspaceId, name);
    const folder = await Folder.open(
      join(home, name),
      join(home, `${name}.sync`, 'half-written'),
      state.files.size === 0,
    );
    const api = this.faulty(new SyncApi(vault.session, vault.workspaceId, state.deviceId));
    this.clients.set(
      name,
      new SyncClient({ name, folder, state, api, keys: vault.keys, onProgress: () => undefined }),
    );
  }

  private client(name: Name): SyncClient {
    return this.clients.get(name)!;
  }

  /** Loses requests before they are sent, and answers after the service has acted on them. */
  private faulty(api: SyncApi): SyncApi {
    return new Proxy(api, {
      get: (target, key) => {
        const call = Reflect.get(target, key) as unknown;
        if (typeof call !== 'function') return call;
        return async (...parameters: unknown[]) => {
          this.maybeFail();
          const answer: unknown = await Reflect.apply(call, target, parameters);
          this.maybeFail();
          return answer;
        };
      },
    });
  }

  private maybeFail(): void {
    if (this.faultRate > 0 && this.random.next() < this.faultRate) throw new Error(FAULT);
  }

  private async filesOf(name: Name): Promise<string[]> {
    const root = join(this.home, name);
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    return files.map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1)).sort();
  }

  private async linesOf(name: Name, path: string): Promise<string[]> {
    return (await readFile(join(this.home, name, path), 'utf8')).split('\n').filter(Boolean);
  }
}
