import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:http2';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { freePort } from '../../../bench/free-port.js';
import { createCertificates } from '../../kit/certificates.js';
import { ROOT } from '../../kit/deployment.js';
import {
  eventually,
  sha256,
  startService,
  type TestService,
  type TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { describeWithTestServers, servers, spawnServer } from '../../kit/test-servers.js';

const NAME = 'sync.example.org';
const IS_LINUX_WITH_IPV6 = existsSync('/proc/net/if_inet6');

/** Debian's /etc/nginx with the files of ops/nginx, and paths, ports and certificate of the test. */
function layOut(root: string, replaced: readonly (readonly [string, string])[]): void {
  const etc = join(root, 'etc/nginx');
  cpSync(join(servers.environment?.TEST_SERVERS_DIR ?? '', 'etc/nginx'), etc, { recursive: true });
  rmSync(join(etc, 'sites-enabled'), { recursive: true });
  cpSync(join(ROOT, 'ops/nginx'), etc, { recursive: true });
  mkdirSync(join(etc, 'sites-enabled'));
  cpSync(join(etc, 'sites-available/cloud-sync'), join(etc, 'sites-enabled/cloud-sync'));
  mkdirSync(join(root, 'log'));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  // Debian's are below /var/lib/nginx. These cannot be entered by nginx's workers: nothing may need them.
  writeFileSync(
    join(etc, 'conf.d/temporary.conf'),
    temporary.map((of) => `${of}_temp_path ${root}/${of};`).join('\n'),
  );
  for (const file of [
    'nginx.conf',
    'conf.d/cloud-sync.conf',
    'snippets/cloud-sync.conf',
    'sites-enabled/cloud-sync',
  ]) {
    let content = readFileSync(join(etc, file), 'utf8');
    for (const [from, to] of replaced) content = content.replaceAll(from, to);
    writeFileSync(join(etc, file), content);
  }
}

describeWithTestServers("nginx with the files of ops/nginx in Debian's layout", () => {
  const { ca, cert, key } = createCertificates(NAME);
  let root: string;
  let port: number;
  let plainPort: number;
  let service: TestService;
  let alice: TestUser;
  let workspace: TestWorkspace;
  let stop: () => Promise<void>;

  beforeAll(async () => {
    service = await startService({ env: { TRUST_PROXY: 'true' } });
    alice = await service.user('alice');
    workspace = await alice.workspace();
    root = mkdtempSync(join(tmpdir(), 'nginx-'));
    [port, plainPort] = [await freePort(), await freePort()];
    writeFileSync(join(root, 'cert.pem'), cert);
    writeFileSync(join(root, 'key.pem'), key);
    layOut(root, [
      ['/etc/letsencrypt/live/sync.example.org/fullchain.pem', join(root, 'cert.pem')],
      ['/etc/letsencrypt/live/sync.example.org/privkey.pem', join(root, 'key.pem')],
      ['/etc/nginx', join(root, 'etc/nginx')],
      ['/var/log/nginx', join(root, 'log')],
      ['/run/nginx.pid', join(root, 'nginx.pid')],
      ['127.0.0.1:8787', new URL(service.url).host],
      ['listen 443', `listen 127.0.0.1:${port}`],
      ['listen 80', `listen 127.0.0.1:${plainPort}`],
      ...(IS_LINUX_WITH_IPV6
        ? ([
            ['listen [::]:443', `listen [::1]:${port}`],
            ['listen [::]:80', `listen [::1]:${plainPort}`],
          ] as const)
        : ([
            ['listen [::]:443', '#'],
            ['listen [::]:80', '#'],
          ] as const)),
    ]);
    const args = ['-c', join(root, 'etc/nginx/nginx.conf'), '-e', 'stderr'];
    execFileSync('nginx', ['-t', ...args], {
      env: { ...process.env, ...servers.environment },
      stdio: 'pipe',
    });
    const nginx = spawnServer('nginx', [...args, '-g', 'daemon off;'], { stdio: 'ignore' });
    stop = async () => {
      nginx.kill('SIGTERM');
      await once(nginx, 'exit');
    };
    await eventually(async () => expect((await ask('/health')).statusCode).toBe(200));
  });
  afterAll(async () => {
    await stop();
    await service.close();
    rmSync(root, { recursive: true });
  });

  async function ask(path: string, host = '127.0.0.1', headers: object = {}): Promise<IncomingMessage> {
    const asked = request({
      host,
      port,
      path,
      ca,
      servername: NAME,
      agent: false,
      headers: { host: NAME, ...headers },
    });
    asked.end();
    const [answer] = (await Promise.race([once(asked, 'response'), once(asked, 'upgrade')])) as [
      IncomingMessage,
    ];
    return answer;
  }
  const asAlice = {
    get authorization() {
      return `Bearer ${alice.token}`;
    },
  };
  const logs = (): string =>
    readdirSync(join(root, 'log'))
      .map((file) => readFileSync(join(root, 'log', file), 'utf8'))
      .join('');

  it('forwards requests over HTTP/1.1 and HTTP/2, and redirects plain HTTP to TLS', async () => {
    expect(await text(await ask(`/health`))).toBe('{"ok":true}');
    const session = connect(`https://127.0.0.1:${port}`, { ca, servername: NAME });
    const stream = session.request({ ':path': '/health', ':authority': NAME });
    expect(await text(stream)).toBe('{"ok":true}');
    session.close();
    const plain = await fetch(`http://127.0.0.1:${plainPort}/docs?a=b`, { redirect: 'manual' });
    expect([plain.status, plain.headers.get('location')]).toEqual([301, 'https://127.0.0.1/docs?a=b']);
  });

  it('sends 100 MiB whole to a client that pauses, without temporary files', async () => {
    const largest = randomBytes(100 << 20);
    await workspace.put('largest', largest).expect(201);
    const paused = await ask(workspace.file('largest'), '127.0.0.1', { ...asAlice });
    const other = await ask(workspace.file('largest'), '127.0.0.1', { ...asAlice });
    expect(sha256(await buffer(other))).toBe(sha256(largest));
    expect(sha256(await buffer(paused))).toBe(sha256(largest));
  });

  it('passes on the address of the client, whatever X-Forwarded-For it sends', async () => {
    const forged = { 'x-forwarded-for': '203.0.113.9' };
    const hosts = ['127.0.0.1', ...(IS_LINUX_WITH_IPV6 ? ['::1'] : [])];
    for (const host of hosts) {
      const { headers } = await ask('/api/v1/auth/me', host, forged);
      const id = String(headers['x-request-id']);
      await eventually(() => expect(lineOf(service.logged(), id)).toMatchObject({ ip: host }));
    }
  });

  it('logs no token, neither of a socket that opens nor of one that fails', async () => {
    const upgrade = {
      ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
      'sec-websocket-key': randomBytes(16).toString('base64'),
    };
    const path = `${workspace.path}/ws?token=${alice.token}`;
    const opened = await ask(path, '127.0.0.1', upgrade);
    expect(opened.statusCode).toBe(101);
    opened.socket.destroy();
    await service.app.close();
    expect((await ask(path, '127.0.0.1', upgrade)).statusCode).toBe(502);
    await eventually(() => expect(logs()).toMatch(/\/ws" 502/));
    expect(logs()).not.toMatch(/token|eyJ/);
  });
});

/** The line of a request in the log of the service. */
function lineOf(log: string, id: string): unknown {
  const lines = log.split('\n').filter((line) => line.includes(id) && line.includes('"request"'));
  return lines.map((line) => JSON.parse(line) as unknown).at(-1);
}
