import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Machine } from './command-line.js';
import { startService, type TestService, type TestUser } from './index.js';

export async function settle(...machines: Machine[]): Promise<void> {
  for (const each of machines) expect(await each.run(['sync', each.folder])).toMatchObject({ code: 0 });
}

interface Listed {
  readonly version: number;
  readonly id: string;
  readonly savedAt: string;
  readonly size: number;
  readonly device: string | null;
}

/** Call outside of all tests. A machine for each test, whose user and workspace are new. */
export function useMachineWithHistory(): MachineWithHistory {
  const history = new MachineWithHistory();
  beforeAll(() => history.open());
  afterAll(() => history.close());
  beforeEach(() => history.beginTest());
  afterEach(() => history.endTest());
  return history;
}

export class MachineWithHistory {
  service!: TestService;
  user!: TestUser;
  home!: string;
  one!: Machine;
  workspace!: string;
  users = 0;

  readonly open = async () => {
    this.service = await startService({ isAtBaseUrl: true });
  };

  readonly close = () => this.service.close();

  readonly beginTest = async () => {
    this.home = mkdtempSync(join(tmpdir(), 'cli-history-'));
    this.user = await this.service.user(`history${++this.users}`);
    this.one = this.machine('one');
    const made = await this.one.json(['init', this.one.folder, '--new', 'Notes', '--device', 'one']);
    expect(made.code).toBe(0);
    this.workspace = String(made['workspace']);
  };

  readonly endTest = () => rmSync(this.home, { recursive: true, force: true });

  machine(name: string): Machine {
    const env = {
      SYNC_URL: this.service.url,
      ACCESS_TOKEN: this.user.token,
      VAULT_PASSWORD: 'the vault password',
    };
    return new Machine(join(this.home, name), env);
  }

  /** A second machine on the same workspace. */
  async second(): Promise<Machine> {
    const two = this.machine('two');
    const args = ['init', two.folder, '--workspace', this.workspace, '--device', 'two'];
    expect(await two.run(args)).toMatchObject({ code: 0 });
    return two;
  }

  readonly at = (path: string, of = this.one): string => join(of.folder, path);

  readonly versions = async (path: string): Promise<Listed[]> =>
    (await this.one.json(['log', this.at(path)]))['versions'] as Listed[];
}
