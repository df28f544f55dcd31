import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** What global-setup knows of the servers that scripts/test-servers.sh has unpacked. */
export const servers = JSON.parse(process.env.TEST_SERVERS ?? '{}') as {
  readonly isInstalled?: boolean;
  readonly environment?: NodeJS.ProcessEnv;
};

/** Whether tests fail, instead of being skipped, when something they need is missing. */
export const isRequired = Boolean(process.env.CI ?? process.env.REQUIRE_TEST_SERVERS);

/**
 * `describe` for tests that need a real Redis or S3 server. Without one they are skipped, with one line; in CI they run,
 * and fail when the server is started.
 */
export function describeWithTestServers(name: string, tests: () => void): void {
  if (servers.isInstalled === true || isRequired) {
    describe(name, tests);
    return;
  }
  process.stderr.write(
    `skipped: ${name}: the servers it needs are not installed, see scripts/test-servers.sh\n`,
  );
  describe.skip(name, tests);
}

/** Like `describeWithTestServers`, for a program that a directory unpacked by an earlier version may lack. */
export function describeWithProgram(program: string, name: string, tests: () => void): void {
  const path = join(servers.environment?.TEST_SERVERS_DIR ?? '', 'usr/bin', program);
  if (existsSync(path) || isRequired) {
    describeWithTestServers(name, tests);
    return;
  }
  process.stderr.write(`skipped: ${name}: ${program} is not installed, see scripts/test-servers.sh\n`);
  describe.skip(name, tests);
}

/** Starts one of the unpacked programs. @throws when it is not installed */
export function spawnServer(program: string, args: string[], options: SpawnOptions): ChildProcess {
  if (!servers.isInstalled) throw new Error('the server is not installed: run scripts/test-servers.sh');
  return spawn(program, args, { ...options, env: { ...process.env, ...servers.environment } });
}
