import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer, json } from 'node:stream/consumers';
import { freePort } from '../../../bench/free-port.js';
import { ComposeProcesses, IMAGE_USER, INSTANCES } from '../../kit/compose-processes.js';
import { environmentOf, makeEnv, secretOf } from '../../kit/compose-stack.js';
import { compose, dockerfileStages, execForm } from '../../kit/deployment.js';
import { DEV_LOGIN_KEY, eventually, sha256 } from '../../kit/index.js';
import {
  describeWithProgram,
  describeWithTestServers,
  servers,
  spawnServer,
} from '../../kit/test-servers.js';

const [, final = []] = dockerfileStages();
const JSON_BODY = { 'content-type': 'application/json' };

describeWithProgram('caddy', 'the services of docker-compose.yml, as processes', () => {
  let stack: ComposeProcesses;
  let second: ComposeProcesses | undefined;
  let token: string;
  let workspace: string;
  const acknowledged = new Map<string, string>();

  beforeAll(async () => {
    stack = new ComposeProcesses();
    await startAll(stack);
    token = await logIn();
    const made = await ask('POST', '/api/v1/workspaces', {
      headers: JSON_BODY,
      body: JSON.stringify({ name: 'notes' }),
    });
    workspace = ((await json(made)) as { id: string }).id;
  });
  afterAll(async () => {
    await stack.stop();
    await second?.stop();
  });

  async function ask(
    method: string,
    path: string,
    {
      headers = {},
      body,
      host = '127.0.0.1',
    }: { headers?: Record<string, string>; body?: string | Buffer; host?: string } = {},
  ): Promise<IncomingMessage> {
    const { port } = new URL(stack.proxyUrl);
    const asked = request({
      ...{ host, port, path, method, ca: stack.certificate, servername: 'localhost', agent: false },
      headers: { host: 'localhost', ...(token ? { authorization: `Bearer ${token}` } : {}), ...headers },
    });
    asked.end(body);
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    return answer;
  }

  async function put(name: string, content: Buffer): Promise<number | undefined> {
    const headers = {
      'content-type': 'application/octet-stream',
      'x-content-hash': sha256(content),
      'x-device-id': 'laptop',
    };
    const answer = await ask('PUT', `/api/v1/workspaces/${workspace}/files/${name}`, {
      headers,
      body: content,
    });
    answer.resume();
    if (answer.statusCode === 201) acknowledged.set(name, sha256(content));
    return answer.statusCode;
  }

  async function startAll(all: ComposeProcesses): Promise<void> {
    if (!all.hasPostgres) await all.startPostgres();
    for (const instance of [0, 1]) await all.startService(instance);
    await all.startProxy();
    await eventually(async () => expect((await ask('GET', '/health/ready')).statusCode).toBe(200));
  }

  async function logIn(): Promise<string> {
    const headers = { 'x-dev-login-key': DEV_LOGIN_KEY, ...JSON_BODY };
    const body = JSON.stringify({ email: 'alice@example.org', name: 'alice' });
    const answer = await ask('POST', '/api/v1/auth/dev-login', { headers, body });
    return ((await json(answer)) as { token: string }).token;
  }

  async function expectAcknowledged(): Promise<void> {
    expect(acknowledged.size).toBeGreaterThan(4);
    for (const [name, hash] of acknowledged) {
      const answer = await ask('GET', `/api/v1/workspaces/${workspace}/files/${name}`);
      expect([name, sha256(await buffer(answer))]).toEqual([name, hash]);
    }
  }

  const heard = (): number[] =>
    stack.instances.map(({ output }) => output().split('"message":"request"').length);

  it('serve through the proxy, on both instances, with small and large files', async () => {
    expect(await put('small', Buffer.from('content'))).toBe(201);
    expect(await put('large', Buffer.alloc(1 << 20, 3))).toBe(201);
    const before = heard();
    await eventually(async () => {
      await Promise.all(Array.from({ length: 40 }, () => ask('GET', '/').then((answer) => answer.resume())));
      heard().forEach((count, index) => expect(count).toBeGreaterThan(before[index]!));
    });
  });

  it('log the real client address, also of IPv6, whatever X-Forwarded-For says', async () => {
    for (const host of ['127.0.0.1', ...(existsSync('/proc/net/if_inet6') ? ['::1'] : [])]) {
      const { headers } = await ask('GET', '/api/v1/auth/me', {
        host,
        headers: { 'x-forwarded-for': '203.0.113.9' },
      });
      const id = String(headers['x-request-id']);
      await eventually(() => {
        const lines = stack.instances.flatMap(({ output }) => output().split('\n'));
        expect(JSON.parse(lines.find((line) => line.includes(id)) ?? '{}')).toMatchObject({ ip: host });
      });
    }
  });

  it('write only to their volumes', async () => {
    if (IMAGE_USER.uid === undefined) return;
    const written = await ownedBy(stack.root, IMAGE_USER.uid);
    expect(written.filter((path) => !/^(data|proxy|tmp)(\/|$)/.test(path))).toEqual([]);
    expect(written.some((path) => path.startsWith('data/blobs/'))).toBe(true);
  });

  it('lose nothing acknowledged when one instance is killed and the other one hangs', async () => {
    const writeWhile = async (what: string, end: () => unknown): Promise<void> => {
      const ended = put(`${what}-0`, Buffer.from(what)).then(end);
      const writes = Array.from({ length: 30 }, (_, n) =>
        put(`${what}-${n + 1}`, Buffer.from(`${what} ${n}`)),
      );
      await Promise.all([ended, ...writes.map((write) => write.catch(() => undefined))]);
    };
    await writeWhile('killed', () => stack.killInstance(0));
    await eventually(async () => expect(await put('after-kill', Buffer.from('one is left'))).toBe(201));
    await stack.startService(0);

    const hung = stack.instances[1]!.child;
    const ended = once(hung, 'exit');
    await writeWhile('hung', () => process.kill(stack.serviceOf(1), 'SIGSTOP'));
    expect(await ended).toEqual([1, null]); // by its watchdog
    await stack.startService(1);

    await expectAcknowledged();
  });

  it('lose nothing acknowledged when they are replaced one by one, or all killed at once', async () => {
    for (const instance of [0, 1]) {
      const { child } = stack.instances[instance]!;
      const writes = Array.from({ length: 20 }, (_, n) =>
        eventually(async () =>
          expect(await put(`replaced-${instance}-${n}`, Buffer.from(String(n)))).toBeLessThan(202),
        ),
      );
      child.kill('SIGTERM');
      expect(await once(child, 'exit')).toEqual([0, null]);
      await stack.startService(instance);
      await Promise.all(writes);
    }
    expect(await put('last', Buffer.alloc(300_000, 9))).toBe(201);
    await stack.killEverything();
    await startAll(stack);
    await expectAcknowledged();
  });

  it('can be backed up, and restored into a second stack', async () => {
    const backup = join(stack.data, 'backup');
    stack.admin('backup', 'create', backup);
    second = new ComposeProcesses();
    for (const name of ['auth_secret'])
      cpSync(
        join(stack.deployment.directory, 'secrets', name),
        join(second.deployment.directory, 'secrets', name),
      );
    await second.startPostgres();
    chmodSync(stack.data, 0o755);
    second.admin('backup', 'restore', backup);
    [stack, second] = [second, stack];
    await startAll(stack);
    token = await logIn();
    await expectAcknowledged();
    expect(await put('after-restore', Buffer.from('it goes on'))).toBe(201);
  });

  it('the health check of the image uses the address of the service', () => {
    const [check = '', ...args] = execForm(final, 'HEALTHCHECK');
    const run = (host: string): number | null =>
      spawnSync(check, args, { cwd: join(stack.root, 'image'), env: { ...stack.environment(), HOST: host } })
        .status;
    expect(INSTANCES.map(run)).toEqual([0, 0]);
    expect(run('127.0.0.4')).toBe(1);
  });

  it('an account can be created in a container', () => {
    expect(stack.admin('user', 'create', 'bob@example.org')).toContain('bob@example.org');
  });
});

describeWithTestServers('redis of docker-compose.yml', () => {
  it('starts with its command and secret, and requires the password', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'compose-redis-'));
    const deployment = makeEnv(directory, 'https://localhost', '--with', 'redis');
    const port = String(await freePort());
    const [program = '', ...args] = compose.services.redis!.command!.map((word) =>
      word.replace('/run/secrets', join(directory, 'secrets')),
    );
    const child = spawnServer(program, [...args, '--port', port, '--bind', '127.0.0.1'], {
      cwd: directory,
      stdio: 'ignore',
    });
    const cli = (...words: string[]): string =>
      spawnSync('redis-cli', ['-p', port, ...words], {
        env: { ...process.env, ...servers.environment },
        encoding: 'utf8',
      }).stdout;
    await eventually(() => expect(cli('ping')).toMatch(/NOAUTH|PONG/));
    expect(cli('ping')).toContain('NOAUTH');
    expect(cli('--no-auth-warning', '-a', secretOf(deployment, 'redis_password'), 'ping')).toBe('PONG\n');
    expect(environmentOf('service', deployment).REDIS_URL_FILE).toBe(join(directory, 'secrets/redis_url'));
    child.kill('SIGKILL');
    await once(child, 'exit');
    rmSync(directory, { recursive: true });
  });
});

/** The entries below a directory that a user owns. */
async function ownedBy(root: string, uid: number): Promise<string[]> {
  const entries = await readdir(root, { recursive: true });
  const owned = await Promise.all(
    entries.map(async (entry) =>
      (await stat(join(root, entry)).catch(() => undefined))?.uid === uid ? [entry] : [],
    ),
  );
  return owned.flat();
}
