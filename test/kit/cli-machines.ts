import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Machine } from './command-line.js';
import { startService, type TestService, type TestUser } from './index.js';

export const PASSWORD = 'the vault password';

export async function settle(...machines: Machine[]): Promise<void> {
  for (const each of machines) expect(await each.run(['sync', each.folder])).toMatchObject({ code: 0 });
}

/** Call outside of all tests. The command line as a process, against the real service; each test has a user of its own. */
export function useMachines(): Machines {
  const machines = new Machines();
  beforeAll(() => machines.open());
  afterAll(() => machines.close());
  beforeEach(() => machines.beginTest());
  afterEach(() => machines.endTest());
  return machines;
}

export class Machines {
  service!: TestService;
  user!: TestUser;
  home!: string;
  users = 0;

  readonly open = async () => {
    this.service = await startService({ isAtBaseUrl: true });
  };

  readonly close = () => this.service.close();

  readonly beginTest = async () => {
    this.home = mkdtempSync(join(tmpdir(), 'command-line-'));
    this.user = await this.service.user(`user${++this.users}`);
  };

  readonly endTest = () => rmSync(this.home, { recursive: true, force: true });

  machine(name: string, env: Record<string, string> = {}): Machine {
    const signIn = { SYNC_URL: this.service.url, ACCESS_TOKEN: this.user.token, VAULT_PASSWORD: PASSWORD };
    return new Machine(join(this.home, name), { ...signIn, ...env });
  }

  /** Two machines on one new workspace. */
  async pair() {
    const [one, two] = [this.machine('one'), this.machine('two')];
    const made = await one.json(['init', one.folder, '--new', 'Notes', '--device', 'one']);
    expect(made.code).toBe(0);
    const workspace = String(made['workspace']);
    expect((await two.json(['init', two.folder, '--workspace', workspace, '--device', 'two'])).code).toBe(0);
    return { one, two, workspace };
  }
}
