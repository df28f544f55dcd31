import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as client from '../../client/src/core/index.js';
import { KeySlots } from '../../client/src/core/vault/key-slots.js';
import { unlock, type Unlocked } from '../../client/src/core/vault/unlock.js';
import { ROOT } from './deployment.js';
import { startService, type TestService, type TestUser } from './index.js';
import { useInTests } from './use-in-tests.js';

const COMMAND = join(ROOT, 'dist', 'examples', 'vault', 'main.js');
export const PASSWORD = 'the password of the vault';
export const NEW_PASSWORD = 'another password of the vault';

interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Call outside of all tests: a service for all of them, and the command `vault` as a process. */
export function useVaultCommand(): VaultCommand {
  return useInTests(new VaultCommand());
}

export class VaultCommand {
  service!: TestService;
  /** The directory in which commands run. */
  home!: string;
  private users = 0;

  async open(): Promise<void> {
    this.service = await startService({ isAtBaseUrl: true, env: { LOG_LEVEL: 'silent' } });
    this.home = await mkdtemp(join(tmpdir(), 'vault-command-'));
  }

  async close(): Promise<void> {
    await rm(this.home, { recursive: true, force: true });
    await this.service.close();
  }

  readonly someone = (): Promise<TestUser> => this.service.user(`vault-${++this.users}`);

  readonly start = (
    user: TestUser,
    args: readonly string[],
    env: Record<string, string> = {},
  ): ChildProcess =>
    spawn(process.execPath, [COMMAND, ...args], {
      cwd: this.home,
      env: {
        PATH: process.env['PATH'],
        BASE_URL: this.service.url,
        ACCESS_TOKEN: user.token,
        INIT_CWD: this.home,
        ...env,
      },
      stdio: 'pipe',
    });

  /** @param answers to the questions, one a line; a function gets what has been printed so far */
  readonly run = async (
    user: TestUser,
    args: readonly string[],
    { env = {}, answers = [] }: { env?: Record<string, string>; answers?: ((out: string) => string)[] } = {},
  ): Promise<Run> => {
    const child = this.start(user, args, env);
    let [out, err, asked] = ['', '', 0];
    child.stdout?.on('data', (chunk) => (out += String(chunk)));
    child.stdin?.on('error', () => undefined);
    child.stderr?.on('data', (chunk) => {
      err += String(chunk);
      for (
        ;
        (err.match(/(?:before\)|of the vault): /g) ?? []).length > asked && asked < answers.length;
        asked++
      )
        child.stdin?.write(`${answers[asked]?.(out)}\n`);
    });
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, out, err };
  };

  readonly session = (user: TestUser): client.Session =>
    client.Session.withAccessToken(this.service.url, user.token);
  readonly unlock = (user: TestUser, id: string, password: string): Promise<Unlocked> =>
    unlock(new KeySlots(this.session(user), id), { password }, false);
  readonly newVault = async (user: TestUser): Promise<string> =>
    (await client.Vault.create(this.session(user), 'notes', PASSWORD)).workspaceId;
}
