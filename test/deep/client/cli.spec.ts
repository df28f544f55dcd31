import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import supertest from 'supertest';
import { Machine } from '../../kit/command-line.js';
import { ROOT } from '../../kit/deployment.js';
import { startService, type TestService, type TestUser } from '../../kit/index.js';
import { elementOf, Visitor } from '../../kit/visitor.js';

/** The command line as a process, against the real service. */
const PASSWORD = 'the vault password';

let service: TestService;
let user: TestUser;
let home: string;
beforeAll(async () => {
  service = await startService({ isAtBaseUrl: true });
});
afterAll(() => service.close());

let users = 0;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'command-line-'));
  user = await service.user(`user${++users}`);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function machine(name: string, env: Record<string, string> = {}): Machine {
  const signIn = { SYNC_URL: service.url, ACCESS_TOKEN: user.token, VAULT_PASSWORD: PASSWORD };
  return new Machine(join(home, name), { ...signIn, ...env });
}

/** Two machines on one new workspace. */
async function pair() {
  const [one, two] = [machine('one'), machine('two')];
  const made = await one.json(['init', one.folder, '--new', 'Notes', '--device', 'one']);
  expect(made.code).toBe(0);
  const workspace = String(made['workspace']);
  expect((await two.json(['init', two.folder, '--workspace', workspace, '--device', 'two'])).code).toBe(0);
  return { one, two, workspace };
}

async function settle(...machines: Machine[]): Promise<void> {
  for (const each of machines) expect(await each.run(['sync', each.folder])).toMatchObject({ code: 0 });
}

describe('init', () => {
  it('creates a vault with a token, and opens it on a second machine', async () => {
    const one = machine('one');
    const made = await one.json(['init', one.folder]);
    expect(made).toMatchObject({
      ...{ code: 0, folder: one.folder, service: service.url, isNew: true, keepsKey: true },
      workspace: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(made.stderr).toMatch(/recovery key now/);
    const two = machine('two');
    const unsaid = await two.run(['init', two.folder]);
    expect([unsaid.code, unsaid.stderr]).toEqual([2, expect.stringContaining(String(made['workspace']))]);
    const opened = await two.json(['init', two.folder, '--workspace', String(made['workspace'])]);
    expect(opened).toMatchObject({ code: 0, isNew: false });
  });

  it('signs in through the page of the service', async () => {
    const account = { email: 'handoff@example.org', password: 'correct horse battery staple' };
    await supertest(service.url)
      .post('/api/auth/sign-up/email')
      .send({ ...account, name: 'Handoff' })
      .expect(200);
    const one = new Machine(join(home, 'one'), { SYNC_URL: service.url, VAULT_PASSWORD: PASSWORD });
    const child = one.start(['init', one.folder, '--json']);
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    const asked = new Promise<string>((resolve) =>
      child.stderr.on('data', (chunk: Buffer) => {
        stderr += chunk.toString();
        const [, url] = /(http\S+desktop-handoff\S+)[^]*paste it here/.exec(stderr) ?? [];
        if (url !== undefined) resolve(url);
      }),
    );
    const url = new URL(await asked);
    const browser = new Visitor(service.url, { Origin: service.url });
    const page = await browser.get(url.pathname + url.search);
    expect(page.text).toContain(/code: (\S+)/.exec(stderr)?.[1]);
    const answer = await browser.submit(page, 'Sign in', account);
    const link = String(elementOf(answer, 'link')['value']);
    await trial(account);
    child.stdin.end(`${link}\n`);
    const [code] = (await once(child, 'close')) as [number];
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    expect(JSON.parse(stdout)).toMatchObject({ isNew: true, folder: one.folder });
    const kept = JSON.parse(readFileSync(join(one.state, 'credentials.json'), 'utf8'));
    expect(kept).toEqual({ sessionToken: expect.any(String), service: service.url });
    one.write('a.md', 'a');
    expect(await one.run(['sync', one.folder])).toMatchObject({ code: 0 });

    expect(await one.run(['sign-out', one.folder])).toMatchObject({ code: 0 });
    expect(await one.run(['sync', one.folder])).toMatchObject({ code: 5 });
    const answers = await supertest(service.url)
      .get('/api/auth/token')
      .set({ Authorization: `Bearer ${kept.sessionToken}`, Origin: service.url });
    expect(answers.status).toBe(401);
  });

  async function trial(account: { email: string; password: string }): Promise<void> {
    const { body } = await supertest(service.url).post('/api/auth/sign-in/email').send(account).expect(200);
    const bearer = { Authorization: `Bearer ${body.token}` };
    const token = (await supertest(service.url).get('/api/auth/token').set(bearer).expect(200)).body.token;
    await supertest(service.url)
      .post('/api/v1/subscription/trial')
      .set('Authorization', `Bearer ${token}`)
      .expect(200);
  }

  it('refuses the link of another attempt', async () => {
    const one = new Machine(join(home, 'one'), { SYNC_URL: service.url, VAULT_PASSWORD: PASSWORD });
    const link = 'cloudsync://auth/callback?token=x&client_state=somebody-elses\n';
    const ended = await one.run(['init', one.folder], {}, link);
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringMatching(/does not belong to this attempt/)]);
    expect(existsSync(join(one.state, 'config.json'))).toBe(false);
  });

  it('keeps secrets outside the folder, readable only by their owner', async () => {
    const { one } = await pair();
    for (const name of ['credentials.json', 'master-key', 'config.json', 'journal'])
      expect([name, statSync(join(one.state, name)).mode & 0o777]).toEqual([name, 0o600]);
    expect(statSync(one.state).mode & 0o777).toBe(0o700);
    expect(readdirSync(one.folder)).toEqual(['.cloud-sync']);
  });

  it('stores no key with --ask, and asks for the password each time', async () => {
    const one = machine('one');
    await one.json(['init', one.folder, '--ask']);
    expect(existsSync(join(one.state, 'master-key'))).toBe(false);
    one.write('a.md', 'a');
    expect(await one.run(['sync', one.folder])).toMatchObject({ code: 0 });
    const wrong = await one.run(['sync', one.folder], { VAULT_PASSWORD: 'another' });
    expect([wrong.code, wrong.stderr]).toEqual([5, expect.stringMatching(/vault password is wrong/)]);
    const silent = await new Machine(one.home, { ACCESS_TOKEN: user.token }).run(['sync', one.folder]);
    expect([silent.code, silent.stderr]).toEqual([5, expect.stringMatching(/variable VAULT_PASSWORD/)]);
  });

  it.each([
    ['in a folder that is synced', (one: Machine) => join(one.folder, 'sub'), /synced twice/],
    ['around a folder that is synced', (one: Machine) => one.home, /state of this client|synced twice/],
    ['in the state', (one: Machine) => join(one.stateHome, 'x'), /in the state of this client/],
    ['at a file', (one: Machine) => join(one.home, 'file'), /not a directory/],
  ])('refuses a folder %s', async (_, place, message) => {
    const one = machine('one');
    await one.json(['init', one.folder]);
    writeFileSync(join(one.home, 'file'), '');
    const ended = await one.run(['init', place(one), '--new', 'Other']);
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringMatching(message)]);
  });

  it('signs in again, and keeps workspace and journal', async () => {
    const { one, workspace } = await pair();
    one.write('a.md', 'a');
    await settle(one);
    expect(await one.json(['init', one.folder], { VAULT_PASSWORD: 'not asked for' })).toMatchObject({
      ...{ code: 0, workspace, isNew: false },
    });
    const other = await one.run(['init', one.folder, '--new', 'Other']);
    expect([other.code, other.stderr]).toEqual([2, expect.stringMatching(/sign-out --forget/)]);
    expect(await one.json(['sync', one.folder])).toMatchObject({ code: 0, files: 1, uploaded: [] });
  });
});

describe('sync', () => {
  it('carries files both ways', async () => {
    const { one, two } = await pair();
    one.write('plan.md', 'a plan');
    two.write('travel/Kraków.md', 'the night train');
    expect(await one.json(['sync', one.folder])).toEqual({
      ...{ code: 0, stderr: '', folder: one.folder, files: 1, uploaded: ['plan.md'], downloaded: [] },
      ...{ removedHere: [], deletedThere: [], conflicts: [], leftOver: [], unconfirmed: [] },
      ...{ beganAnew: false, stopped: null, exitCode: 0 },
    });
    await settle(two, one);
    expect(one.files()).toEqual({ 'plan.md': 'a plan', 'travel/Kraków.md': 'the night train' });
    expect(two.files()).toEqual(one.files());
    const text = await one.run(['sync'], {}, '');
    expect([text.code, text.stderr]).toEqual([2, expect.stringMatching(/not set up/)]);
    expect(await one.run([one.folder])).toMatchObject({ code: 0, stdout: '2 files in sync\n' });
  });

  it('changes nothing in a dry run', async () => {
    const { one, two } = await pair();
    one.write('old.md', 'old');
    await settle(one, two);
    one.write('new.md', 'new');
    one.remove('old.md');
    two.write('other.md', 'other');
    await settle(two);
    const before = [
      readdirSync(one.folder, { recursive: true }),
      readFileSync(join(one.state, 'journal'), 'utf8'),
    ];
    const dry = await one.json(['sync', one.folder, '--dry-run']);
    expect(dry).toMatchObject({
      ...{ code: 0, leftOver: [], massDeletions: [] },
      operations: [
        { kind: 'upload', path: 'new.md' },
        { kind: 'delete-remote', path: 'old.md' },
        { kind: 'download', path: 'other.md' },
      ],
    });
    const after = [
      readdirSync(one.folder, { recursive: true }),
      readFileSync(join(one.state, 'journal'), 'utf8'),
    ];
    expect(after).toEqual(before);
    expect(two.files()).toMatchObject({ 'old.md': 'old' });
    await settle(one, two);
    expect(two.files()).toEqual({ 'new.md': 'new', 'other.md': 'other' });
  });

  it('exits with 3 when files are left over, and syncs the rest', async () => {
    const { one, two } = await pair();
    one.write('a.md', 'a');
    symlinkSync('a.md', join(one.folder, 'link'));
    const report = await one.json(['sync', one.folder]);
    expect(report).toMatchObject({ code: 3, exitCode: 3, leftOver: [{ path: 'link' }], uploaded: ['a.md'] });
    await settle(two);
    expect(two.files()).toEqual({ 'a.md': 'a' });
    expect(await one.json(['status', one.folder])).toMatchObject({ code: 3, files: 1 });
    unlinkSync(join(one.folder, 'link'));
    await settle(one);
  });

  it('escapes terminal control characters', async () => {
    const { one } = await pair();
    symlinkSync('x', join(one.folder, 'a\u001b[31mred\u202e'));
    const { stdout } = await one.run(['sync', one.folder]);
    expect(stdout).toContain('a\\u{1b}[31mred\\u{202e}');
    expect(stdout).not.toContain('\u001b');
  });

  it('needs --yes for many deletions without a terminal, and otherwise exits with 4', async () => {
    const { one, two } = await pair();
    for (let index = 0; index < 30; index++) one.write(`n/${index}.md`, `${index}`);
    await settle(one, two);
    rmSync(join(one.folder, 'n'), { recursive: true });
    expect(await one.json(['sync', one.folder, '--dry-run'])).toMatchObject({
      code: 4,
      massDeletions: [{ direction: 'on the server', count: 30, of: 30 }],
    });
    one.write('new.md', 'new');
    const refused = await one.json(['sync', one.folder]);
    expect(refused).toMatchObject({ code: 4, unconfirmed: ['on the server'], uploaded: ['new.md'] });
    await settle(two);
    expect(Object.keys(two.files())).toHaveLength(31);
    expect(await one.run(['sync', one.folder, '--yes'])).toMatchObject({ code: 0 });
    expect(await two.json(['sync', two.folder])).toMatchObject({ code: 4, unconfirmed: ['here'] });
    expect(await two.run(['sync', two.folder, '--yes'])).toMatchObject({ code: 0 });
    expect(two.files()).toEqual({ 'new.md': 'new' });
  });

  it('asks on a terminal about many deletions and for a password, which is not shown', async () => {
    const { one } = await pair();
    for (let index = 0; index < 30; index++) one.write(`n/${index}.md`, `${index}`);
    await settle(one);
    rmSync(join(one.folder, 'n'), { recursive: true });
    rmSync(join(one.state, 'master-key'));
    const answers = [
      ['Password of the vault: ', `${PASSWORD}\n`],
      ['Delete 30 of 30 files on the server', 'n\n'],
    ] as const;
    const env = { ACCESS_TOKEN: user.token };
    const asked = await onTerminal(new Machine(one.home, env), ['sync', one.folder], answers);
    expect([asked.code, asked.text]).toEqual([4, expect.stringContaining('[y/N] n')]);
    expect(asked.text).not.toContain(PASSWORD);
    const yes = [answers[0], [answers[1][0], 'y\n']] as const;
    const done = await onTerminal(new Machine(one.home, env), ['sync', one.folder], yes);
    expect([done.code, done.text]).toEqual([0, expect.stringContaining('deleted on the server: 10 more')]);
  });

  it('syncs only the selected folders, and files up to a size', async () => {
    const { one, two } = await pair();
    one.write('work/a.md', 'a');
    one.write('home/b.md', 'b');
    one.write('work/large.bin', 'x'.repeat(5_000));
    const chosen = ['--only', 'work', '--max-size', '2kB'];
    expect(await one.json(['sync', one.folder, ...chosen])).toMatchObject({
      ...{ code: 3, uploaded: ['work/a.md'], leftOver: [{ path: 'work/large.bin' }] },
    });
    await two.json(['init', two.folder, '--only', 'home']);
    expect(await one.run(['sync', one.folder])).toMatchObject({ code: 0 });
    await settle(two);
    expect(two.files()).toEqual({ 'home/b.md': 'b' });
    const config = join(two.state, 'config.json');
    writeFileSync(config, readFileSync(config, 'utf8').replace('100MB', 'lots'));
    const wrong = await two.run(['sync', two.folder]);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringMatching(/lots is not a size/)]);
  });

  it('accepts limits in bytes per second, and refuses one that is no size', async () => {
    const { one } = await pair();
    one.write('large.bin', 'x'.repeat(150_000));
    expect(await one.run(['sync', one.folder, '--limit-up', '500kB'])).toMatchObject({ code: 0 });
    const wrong = await one.run(['sync', one.folder, '--limit-down', 'slow']);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringMatching(/slow is not a size/)]);
  });

  it('exits with 1 without the service, and with 5 without access', async () => {
    const { one } = await pair();
    const config = join(one.state, 'config.json');
    const credentials = join(one.state, 'credentials.json');
    const kept = readFileSync(credentials, 'utf8');
    writeFileSync(credentials, '{"accessToken":"revoked"}');
    const denied = await one.json(['sync', one.folder]);
    writeFileSync(credentials, kept);
    expect(denied).toMatchObject({ code: 5, stopped: expect.stringMatching(/401/) });
    for (const [file, text] of [
      [config, readFileSync(config, 'utf8')],
      [credentials, kept],
    ] as const)
      writeFileSync(file, text.replace(service.url, 'http://127.0.0.1:1'));
    const away = await one.json(['sync', one.folder]);
    expect(away).toMatchObject({ code: 1, stopped: expect.stringMatching(/gave no whole answer/) });
    expect(await one.json(['status', one.folder, '--offline'])).toMatchObject({
      ...{ code: 0, next: null, lastSync: { exitCode: 1, stopped: away['stopped'] } },
    });
  });

  it('refuses a folder that has lost its marker', async () => {
    const { one } = await pair();
    one.write('a.md', 'a');
    await settle(one);
    rmSync(one.folder, { recursive: true });
    mkdirSync(one.folder);
    const ended = await one.run(['sync', one.folder]);
    expect([ended.code, ended.stderr]).toEqual([1, expect.stringMatching(/lost its marker/)]);
    expect((await one.json(['doctor', one.folder])).code).toBe(1);
    expect(readdirSync(one.folder)).toEqual([]); // an empty mount point stays empty
    expect(await one.run(['sign-out', one.folder, '--forget'])).toMatchObject({ code: 0 });
    expect(readdirSync(one.stateHome)).toEqual([]);
  });
});

/** Runs a command on a terminal, and types each answer after its question. */
async function onTerminal(
  one: Machine,
  args: readonly string[],
  answers: readonly (readonly [question: string, answer: string])[],
): Promise<{ code: number; text: string }> {
  const child = one.onTerminal(args);
  const left = [...answers];
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    const [next] = left;
    if (!next || !text.includes(next[0])) return;
    left.shift();
    child.stdin.write(next[1]);
  });
  const [code] = (await once(child, 'close')) as [number];
  // Readline moves the cursor to draw what is typed.
  return { code, text: stripVTControlCharacters(text) };
}

describe('conflicts and trash', () => {
  it('list conflict copies and deleted files', async () => {
    const { one, two } = await pair();
    for (const name of ['both.md', 'gone.md']) one.write(name, 'as it was');
    await settle(one, two);
    one.write('both.md', 'of one');
    two.write('both.md', 'of two, longer');
    one.remove('gone.md');
    await settle(one, two);
    expect(await two.json(['conflicts', two.folder])).toMatchObject({
      code: 0,
      conflicts: [{ path: 'both.md', copy: 'both (conflict from two).md', size: 14, isPathThere: true }],
    });
    expect(await one.json(['conflicts', one.folder])).toMatchObject({ code: 0, conflicts: [] });
    expect(await one.json(['trash', one.folder])).toMatchObject({ code: 0, files: [{ path: 'gone.md' }] });
    expect((await one.run(['trash', one.folder])).stdout).toMatch(/^\d{4}-\d\d-\d\dT\S+ {2}gone\.md\n$/);
  });
});

describe('status and doctor', () => {
  it('show what the next sync would do', async () => {
    const { one, workspace } = await pair();
    one.write('a.md', 'a');
    expect(await one.json(['status', one.folder])).toMatchObject({
      ...{ code: 0, workspace, device: 'one', files: 0, process: null, lastSync: null },
      next: { operations: { upload: 1 }, leftOver: [], problem: null },
    });
    await settle(one);
    expect(await one.json(['status', one.folder])).toMatchObject({ files: 1, next: { operations: {} } });
    const copy = join(home, 'elsewhere');
    cpSync(one.folder, copy, { recursive: true });
    expect(await one.run(['status', copy])).toMatchObject({ code: 2 });
  });

  it('report a sound folder as sound, and name each defect', async () => {
    const { one } = await pair();
    one.write('a.md', 'a');
    await settle(one);
    const sound = await one.json(['doctor', one.folder]);
    expect(sound).toMatchObject({ code: 0, isSound: true });
    const levels = (findings: unknown) =>
      Object.fromEntries(
        (findings as { what: string; level: string }[]).map(({ what, level }) => [what, level]),
      );
    expect(Object.keys(levels(sound['findings']))).toEqual([
      ...['service', 'version', 'clock', 'sign-in', 'vault', 'privacy', 'lock', 'journal', 'marker', 'disk'],
      ...['room', 'names', 'ignore file', 'files', 'file events'],
    ]);
    const key = join(one.state, 'master-key');
    writeFileSync(key, `${Buffer.alloc(32, 7).toString('base64')}\n`, { mode: 0o600 });
    const journal = join(one.state, 'journal');
    writeFileSync(journal, readFileSync(journal, 'utf8').slice(0, -4), { mode: 0o600 });
    mkdirSync(join(one.folder, '.cloudsyncignore'));
    const ill = await one.json(['doctor', one.folder]);
    expect(ill).toMatchObject({ code: 1, isSound: false });
    expect(levels(ill['findings'])).toMatchObject({
      ...{ service: 'ok', vault: 'failed', journal: 'warning', 'ignore file': 'failed' },
    });
  });
});

describe('every command', () => {
  it.each([
    [['sync', '--nonsense'], 2],
    [['init'], 2],
    [['watch', '--interval', '0', '.'], 2],
    [['--help'], 0],
    [['--version'], 0],
  ])('%j exits with %d', async (args, code) => {
    expect(await machine('one').run(args)).toMatchObject({ code });
  });

  it('has the version of the package with --version', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'client/package.json'), 'utf8'));
    expect((await machine('one').run(['--version'])).stdout).toBe(`${version}\n`);
  });

  it('prints an error as one JSON document with --json', async () => {
    const ended = await machine('one').json(['status', home]);
    expect(ended).toMatchObject({ code: 2, exitCode: 2, error: expect.stringMatching(/not set up/) });
  });
});
