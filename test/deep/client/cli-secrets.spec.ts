import { spawn } from 'node:child_process';
import {
  closeSync,
  openSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AlteringProxy, type Answered, type Asked } from '../../kit/altering-proxy.js';
import { Machine } from '../../kit/command-line.js';
import { ROOT } from '../../kit/deployment.js';
import { startService, type TestService, type TestUser } from '../../kit/index.js';

/** How the command line protects secrets from hostile services and after kills. */
let service: TestService;
let proxy: AlteringProxy;
let user: TestUser;
let home: string;
let one: Machine;
beforeAll(async () => {
  service = await startService();
  proxy = await AlteringProxy.before(service.url);
});
afterAll(async () => {
  await proxy.close();
  await service.close();
});

let users = 0;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'cli-secrets-'));
  user = await service.user(`secrets${++users}`);
  proxy.set();
  one = new Machine(join(home, 'one'), {
    ...{ SYNC_URL: proxy.url, ACCESS_TOKEN: user.token, VAULT_PASSWORD: 'the vault password' },
  });
  expect(await one.run(['init', one.folder, '--new', 'Notes'])).toMatchObject({ code: 0 });
  proxy.set();
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const OTHER = 'http://127.0.0.1:1';
const kept = (name: string): string => join(one.state, name);
const readKept = (name: string) => JSON.parse(readFileSync(kept(name), 'utf8')) as Record<string, unknown>;
const change = (name: string, facts: object): void =>
  writeFileSync(kept(name), JSON.stringify({ ...readKept(name), ...facts }));
const secrets = (): string[] =>
  readdirSync(one.state).filter((name) => /^(credentials|master-key)/.test(name));

describe('the credentials', () => {
  it('name the service that they are for', () => {
    expect(readKept('credentials.json')).toEqual({ accessToken: user.token, service: proxy.url });
  });

  it('of another service, as a killed init leaves them, are not sent to this one', async () => {
    change('credentials.json', { service: OTHER });
    const refused = await one.json(['sync', one.folder]);
    expect(refused).toMatchObject({ code: 5, error: expect.stringContaining(`is for ${OTHER}`) });
    expect(proxy.asked).toEqual([]);
    expect(await one.run(['init', one.folder])).toMatchObject({ code: 0 });
    expect(await one.run(['sync', one.folder])).toMatchObject({ code: 0 });
  });

  it('appear in no error, whatever the token contains', async () => {
    change('credentials.json', { accessToken: 'the-first-half\nthe-second-half' });
    const refused = await one.json(['sync', one.folder]);
    expect(refused).toMatchObject({ code: 1, error: expect.stringMatching(/no token has/) });
    expect(JSON.stringify(refused)).not.toContain('half');
  });
});

describe('sign-out', () => {
  it('ends the session at the service that issued it, even if the settings name another', async () => {
    writeFileSync(
      kept('credentials.json'),
      JSON.stringify({ sessionToken: 'a-session', service: proxy.url }),
    );
    change('config.json', { service: OTHER });
    let authorization: string | undefined;
    proxy.set(({ method, path }) => {
      authorization = `${method} ${path}`;
      return Promise.resolve({ status: 200, headers: {}, body: Buffer.from('{}') });
    });
    expect(await one.json(['sign-out', one.folder])).toMatchObject({ code: 0, problem: null });
    expect(authorization).toBe('POST /api/auth/sign-out');
    expect(secrets()).toEqual([]);
  });

  it('removes credentials that cannot be read, and copies that a killed process has left', async () => {
    writeFileSync(kept('credentials.json'), '{');
    for (const secret of ['credentials.json', 'master-key'])
      writeFileSync(kept(`${secret}.0b1c`), 'a secret');
    const { code, stderr } = await one.run(['sign-out', one.folder]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/credentials.json cannot be read/)]);
    expect(secrets()).toEqual([]);
    expect(existsSync(kept('config.json'))).toBe(true);
  });

  it('removes the secrets before it notifies the service, which may never answer', async () => {
    writeFileSync(
      kept('credentials.json'),
      JSON.stringify({ sessionToken: 'a-session', service: proxy.url }),
    );
    const children: ReturnType<Machine['start']>[] = [];
    const left = new Promise<string[]>((resolve) =>
      proxy.set(() => {
        resolve(secrets());
        for (const child of children) child.kill('SIGKILL');
        return new Promise<Answered>(() => undefined);
      }),
    );
    const child = one.start(['sign-out', one.folder]);
    children.push(child);
    const over = once(child, 'close');
    expect(await left).toEqual([]);
    await over;
  });
});

describe('a service that hides the key slots', () => {
  const hiding = async (
    { path }: { readonly path: string },
    forward: () => Promise<Answered>,
  ): Promise<Answered> => {
    const answer = await forward();
    if (!path.endsWith('/key-slots')) return answer;
    const list = JSON.parse(answer.body.toString()) as object;
    return { ...answer, body: Buffer.from(JSON.stringify({ ...list, slots: [] })) };
  };

  it('receives nothing derived from the password when a folder is signed in again', async () => {
    expect(await one.run(['sign-out', one.folder])).toMatchObject({ code: 0 });
    proxy.set(hiding);
    const again = await one.run(['init', one.folder]);
    expect([again.code, again.stderr]).toEqual([1, expect.stringMatching(/no longer returns the key slots/)]);
    expect(proxy.count(/verify-password/)).toBe(0);
    expect(secrets()).toEqual([]);
  });

  it('cannot claim that the vault never had any', async () => {
    proxy.set(hiding);
    expect(await one.run(['init', one.folder, '--ask'])).toMatchObject({ code: 0 });
    expect(readKept('config.json')).toMatchObject({ hasSlots: true, keepsKey: false });
    const asked = await one.run(['sync', one.folder]);
    expect([asked.code, asked.stderr]).toEqual([1, expect.stringMatching(/no longer returns the key slots/)]);
  });
});

describe('a stored key', () => {
  const otherKey = `${Buffer.alloc(32, 7).toString('base64')}\n`;

  it.each([
    ['is truncated', 'AAAA\n'],
    ['belongs to another vault', otherKey],
  ])('that %s is replaced by init', async (_, text) => {
    const before = readFileSync(kept('master-key'), 'utf8');
    writeFileSync(kept('master-key'), text);
    expect((await one.run(['password', one.folder])).code).not.toBe(0);
    expect(await one.run(['init', one.folder])).toMatchObject({ code: 0 });
    expect(readFileSync(kept('master-key'), 'utf8')).toBe(before);
    expect(await one.run(['sync', one.folder])).toMatchObject({ code: 0 });
  });
});

describe('a service with malformed dates', () => {
  const withoutDates = async (_: Asked, forward: () => Promise<Answered>): Promise<Answered> => {
    const answer = await forward();
    const text = answer.body
      .toString()
      .replaceAll(/"(createdAt|created_at|deleted_at)":"[^"]*"/g, '"$1":"never"');
    return { ...answer, body: Buffer.from(text) };
  };

  it('does not prevent reading the lists', async () => {
    for (const name of ['a.md', 'gone.md']) one.write(name, name);
    expect(await one.run(['checkpoint', 'First', '--folder', one.folder])).toMatchObject({ code: 0 });
    one.remove('gone.md');
    expect(await one.run(['sync', one.folder])).toMatchObject({ code: 0 });
    proxy.set(withoutDates);
    expect(await one.json(['log', join(one.folder, 'a.md')])).toMatchObject({
      versions: [{ savedAt: null }],
    });
    expect(await one.json(['checkpoints', one.folder])).toMatchObject({
      checkpoints: [{ label: 'First', createdAt: null }],
    });
    expect(await one.json(['trash', one.folder])).toMatchObject({
      files: [{ path: 'gone.md', deletedAt: null }],
    });
    expect((await one.run(['checkpoints', one.folder])).stdout).toMatch(/ {2}unknown time {2}First\n$/);
  });
});

describe('the state', () => {
  it('that was copied from another folder is refused', async () => {
    const two = join(home, 'two');
    expect(await one.run(['init', two, '--new', 'Other'])).toMatchObject({ code: 0 });
    const [first = '', second = ''] = readdirSync(one.stateHome).sort(); // notes-…, two-…
    rmSync(join(one.stateHome, second), { recursive: true });
    renameSync(join(one.stateHome, first), join(one.stateHome, second));
    const { code, stderr } = await one.run(['sync', two]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`copy of the state of ${one.folder}`)]);
  });

  it('is set up by one process at a time, even while the first one still asks', async () => {
    const other = new Machine(join(home, 'other'), {
      ...{ ACCESS_TOKEN: user.token, VAULT_PASSWORD: 'the vault password' },
    });
    const child = other.onTerminal(['init', other.folder, '--new', 'Notes']);
    let text = '';
    const asks = new Promise<void>((resolve) =>
      child.stdout.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        if (text.includes('Address of the service')) resolve();
      }),
    );
    await asks;
    const env = { SYNC_URL: proxy.url };
    expect(await other.run(['init', other.folder, '--new', 'Another'], env)).toMatchObject({ code: 6 });
    child.stdin.write(`${proxy.url}\n`);
    expect((await once(child, 'close'))[0]).toBe(0);
  });
});

describe('output', () => {
  it('is one JSON document even for a wrong command line', async () => {
    const { code, stdout } = await one.run(['sync', '--nonsense', '--json']);
    const message = "unknown option '--nonsense'";
    expect([code, stdout]).toEqual([2, `${JSON.stringify({ error: message, exitCode: 2 }, undefined, 2)}\n`]);
  });

  (existsSync('/dev/full') ? it : it.skip)('that cannot be written is an error', async () => {
    const full = openSync('/dev/full', 'w');
    const program = join(ROOT, 'dist/client/src/cli/cloud-sync.js');
    const child = spawn(process.execPath, [program, '--help'], { stdio: ['ignore', full, 'pipe'] });
    let stderr = '';
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number];
    closeSync(full);
    expect([code, stderr]).toEqual([1, 'cloud-sync: the output cannot be written (ENOSPC)\n']);
  });

  it('has no terminal control characters in JSON, and the names are unchanged', async () => {
    const name = 'a\u009b31mred\u202e\u2066';
    one.write(`${name}/.keep`, '');
    one.write('plain\u202e.md', 'x');
    const { stdout } = await one.run(['sync', one.folder, '--json']);
    expect(stdout).not.toMatch(/[\u007f-\u009f\u202e\u2066]/);
    const { leftOver, uploaded } = JSON.parse(stdout) as { leftOver: { path: string }[]; uploaded: string[] };
    expect([leftOver.map(({ path }) => path), uploaded]).toEqual([[name], ['plain\u202e.md']]);
  });
});
