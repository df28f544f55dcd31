import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Machine } from './command-line.js';
import { startService, type TestService, type TestUser } from './index.js';
import { useInTests } from './use-in-tests.js';

export const PASSWORD = 'the vault password';

export async function settle(...machines: Machine[]): Promise<void> {
  for (const each of machines) expect(await each.run(['sync', each.folder])).toMatchObject({ code: 0 });
}

/** Call outside of all tests. The command line as a process, against the real service; each test has a user of its own. */
export const useMachines = (): Machines => useInTests(new Machines());

export class Machines {
  service!: TestService;
  user!: TestUser;
  home!: string;
  users = 0;

  async open(): Promise<void> {
    this.service = await startService({ isAtBaseUrl: true });
  }

  close(): Promise<void> {
    return this.service.close();
  }

  async beginTest(): Promise<void> {
    this.home = await mkdtemp(join(tmpdir(), 'command-line-'));
    this.user = await this.service.user(`user${++this.users}`);
  }

  async endTest(): Promise<void> {
    await rm(this.home, { recursive: true, force: true });
  }

  machine(name: string, env: Record<string, string> = {}): Machine {
    const signIn = { SYNC_URL: this.service.url, ACCESS_TOKEN: this.user.token, VAULT_PASSWORD: PASSWORD };
    return new Machine(join(this.home, name), { ...signIn, ...env });
  }

  /** A machine with a new workspace. */
  async first(env?: Record<string, string>): Promise<{ one: Machine; workspace: string }> {
    const one = this.machine('one', env);
    const made = await one.json(['init', one.folder, '--new', 'Notes', '--device', 'one']);
    expect(made.code).toBe(0);
    return { one, workspace: String(made['workspace']) };
  }

  /** Another machine on the workspace. */
  async another(workspace: string, env?: Record<string, string>): Promise<Machine> {
    const two = this.machine('two', env);
    expect((await two.json(['init', two.folder, '--workspace', workspace, '--device', 'two'])).code).toBe(0);
    return two;
  }

  /** Two machines on one new workspace. */
  async pair(env?: Record<string, string>) {
    const { one, workspace } = await this.first(env);
    return { one, two: await this.another(workspace, env), workspace };
  }
}
