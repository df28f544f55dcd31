import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../bench/free-port.js';
import { Machine, type Watch, type WatchEvent } from '../../kit/command-line.js';
import { SmallDisk, whyNoDisk } from '../../kit/small-disk.js';
import { BASE_URL, startService, type TestService, type TestUser } from '../../kit/index.js';

/** `watch` as a process, against the real service. No step sleeps: each waits for a JSON line or files. */
const PASSWORD = 'the vault password';

let service: TestService;
let user: TestUser;
let home: string;
const running = new Set<Watch>();
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

let users = 0;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'watch-'));
  user = await service.user(`watcher${++users}`);
});
afterEach(async () => {
  for (const each of running) await each.end('SIGKILL');
  running.clear();
  rmSync(home, { recursive: true, force: true });
});

/** Two machines on one new workspace. */
async function pair(url = service.url): Promise<{ one: Machine; two: Machine }> {
  const env = { SYNC_URL: url, ACCESS_TOKEN: user.token, VAULT_PASSWORD: PASSWORD };
  const [one, two] = [new Machine(join(home, 'one'), env), new Machine(join(home, 'two'), env)];
  const made = await one.json(['init', one.folder, '--new', 'Notes', '--device', 'one']);
  const workspace = String(made['workspace']);
  const opened = await two.json(['init', two.folder, '--workspace', workspace, '--device', 'two']);
  expect([made.code, opened.code]).toEqual([0, 0]);
  return { one, two };
}

/** Starts `watch` and waits for its live connection. */
async function watching(machine: Machine, ...args: string[]): Promise<Watch> {
  const watch = machine.watch(...args);
  running.add(watch);
  await watch.until(({ event }) => event === 'connected');
  return watch;
}

async function end(watch: Watch, signal: NodeJS.Signals = 'SIGTERM') {
  running.delete(watch);
  return watch.end(signal);
}

const carried =
  (direction: 'uploaded' | 'downloaded' | 'removedHere', path: string) =>
  ({ event, ...facts }: WatchEvent): boolean =>
    event === 'synced' && facts[direction]?.includes(path) === true;

describe('watch', () => {
  it('carries edits both ways, and a deletion', async () => {
    const { one, two } = await pair();
    const [first, second] = [await watching(one), await watching(two)];
    one.write('deep/er/plan.md', 'a plan');
    await second.until(carried('downloaded', 'deep/er/plan.md'));
    expect(two.files()).toEqual({ 'deep/er/plan.md': 'a plan' });
    two.write('deep/er/plan.md', 'a better plan');
    await first.until(carried('downloaded', 'deep/er/plan.md'));
    expect(one.files()).toEqual({ 'deep/er/plan.md': 'a better plan' });
    one.remove('deep/er/plan.md');
    await second.until(carried('removedHere', 'deep/er/plan.md'));
    expect(two.files()).toEqual({});
    const [begin] = first.events;
    expect(begin).toMatchObject({
      event: 'started',
      folder: one.folder,
      device: 'one',
      at: expect.any(String),
    });
    expect(await end(first)).toEqual({ code: 0, signal: null });
    expect(first.events.at(-1)).toMatchObject({ event: 'ended', reason: 'signal', exitCode: 0 });
    expect(await end(second, 'SIGINT')).toEqual({ code: 0, signal: null });
    expect(readdirSync(one.state)).not.toContain('lock');
  });

  it('scans at intervals, and is not kept busy by its own writes', async () => {
    const { one, two } = await pair();
    two.write('a.md', 'a');
    await two.run(['sync', two.folder]);
    const watch = await watching(one, '--interval', '2');
    await watch.until(carried('downloaded', 'a.md'));
    const before = watch.mark;
    const isInterval = ({ reasons }: WatchEvent): boolean => reasons?.includes('interval') === true;
    await watch.until(isInterval, watch.events.indexOf(await watch.until(isInterval, before)) + 1);
    const syncs = watch.events.slice(before).filter(({ event }) => event === 'synced');
    expect(syncs.filter((event) => !isInterval(event)).length).toBeLessThan(4);
  });

  it('refuses a second process on the folder, but allows status and dry runs', async () => {
    const { one } = await pair();
    const watch = await watching(one);
    for (const args of [
      ['sync', one.folder],
      ['watch', one.folder],
      ['sign-out', one.folder],
    ]) {
      const refused = await one.run(args);
      expect([refused.code, refused.stderr]).toEqual([
        6,
        expect.stringContaining(
          `another client (process ${watch.child.pid}) syncs this folder: stop it first`,
        ),
      ]);
    }
    expect(await one.json(['status', one.folder])).toMatchObject({ code: 0, process: watch.child.pid });
    expect(await one.run(['sync', one.folder, '--dry-run'])).toMatchObject({ code: 0 });
  });

  it('continues after a kill during a sync', async () => {
    const { one, two } = await pair();
    for (let index = 0; index < 400; index++) one.write(`n/${index % 9}/${index}.md`, `note ${index}`);
    const killed = one.watch();
    running.add(killed);
    await killed.until(({ event }) => event === 'progress');
    expect(await end(killed, 'SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
    expect(killed.events.filter(({ event }) => event === 'synced')).toEqual([]);
    expect(readdirSync(one.state)).toContain('lock');

    const again = await watching(one);
    await again.until(({ event, files }) => event === 'synced' && files === 400);
    const receiving = two.watch();
    running.add(receiving);
    await receiving.until(({ event }) => event === 'progress');
    await end(receiving, 'SIGKILL');
    const second = await watching(two);
    await second.until(({ event, files }) => event === 'synced' && files === 400);
    expect(two.files()).toEqual(one.files());
    const conflicts = [again, second].flatMap(({ events }) =>
      events.flatMap((event) => event.conflicts ?? []),
    );
    expect(conflicts).toEqual([]);
  });

  it('waits for a stopped service, and then uploads what was edited meanwhile', async () => {
    const port = await freePort();
    const first = await startService({ beside: service, port, env: { BASE_URL } });
    const { one, two } = await pair(first.url);
    const [mine, theirs] = [await watching(one), await watching(two)];
    await first.close();
    await mine.until(({ event }) => event === 'disconnected');
    const before = mine.mark;
    one.write('meanwhile.md', 'edited without the service');
    const stopped = await mine.until(({ event }) => event === 'stopped', before);
    expect(stopped).toMatchObject({
      exitCode: 1,
      retryInMs: expect.any(Number),
      stopped: expect.any(String),
    });

    const second = await startService({ beside: service, port, env: { BASE_URL } });
    await theirs.until(carried('downloaded', 'meanwhile.md'));
    expect(two.files()).toEqual({ 'meanwhile.md': 'edited without the service' });
    for (const each of [mine, theirs]) expect(await end(each)).toEqual({ code: 0, signal: null });
    await second.close();
  });

  it('holds back many deletions, and syncs the rest', async () => {
    const { one, two } = await pair();
    for (let index = 0; index < 30; index++) one.write(`n/${index}.md`, `${index}`);
    const watch = await watching(one);
    await watch.until(({ event, files }) => event === 'synced' && files === 30);
    await two.run(['sync', two.folder]);
    const before = watch.mark;
    renameSync(join(one.folder, 'n'), join(one.home, 'elsewhere'));
    const asked = await watch.until(({ event }) => event === 'confirmation-needed', before);
    expect(asked).toMatchObject({ direction: 'on the server', count: 30, of: 30 });
    one.write('new.md', 'new');
    await watch.until(carried('uploaded', 'new.md'), before);
    expect(await two.json(['sync', two.folder])).toMatchObject({ code: 0, files: 31, removedHere: [] });
    expect(watch.events.filter(({ event }) => event === 'confirmation-needed')).toHaveLength(1);
  });

  it('applies changed ignore rules', async () => {
    const { one } = await pair();
    const watch = await watching(one);
    one.write('.cloudsyncignore', 'build/\n');
    await watch.until(carried('uploaded', '.cloudsyncignore'));
    one.write('build/out.bin', 'x');
    one.write('kept.md', 'kept');
    const synced = await watch.until(carried('uploaded', 'kept.md'));
    expect(synced.uploaded).toEqual(['kept.md']);
  });

  it('exits with 5 when its token is revoked', async () => {
    const { one } = await pair();
    const { body } = await user.post('/api/v1/auth/tokens').send({ name: 'watch' }).expect(201);
    const config = join(one.state, 'credentials.json');
    writeFileSync(config, JSON.stringify({ accessToken: body.token }));
    const stored = new Machine(one.home, {});
    const watch = await watching(stored);
    await user.delete(`/api/v1/auth/tokens/${body.id}`).expect(200);
    one.write('a.md', 'a');
    const ended = await watch.until(({ event }) => event === 'ended');
    expect(ended).toMatchObject({ exitCode: 5 });
    running.delete(watch);
    expect(await watch.over()).toMatchObject({ code: 5 });
  });

  it('stops for a missing folder, and continues when it is back', async () => {
    const { one } = await pair();
    one.write('a.md', 'a');
    const watch = await watching(one, '--interval', '1');
    await watch.until(carried('uploaded', 'a.md'));
    const away = join(one.home, 'unmounted');
    renameSync(one.folder, away);
    await watch.until(({ event, stopped }) => event === 'stopped' && stopped !== null);
    renameSync(away, one.folder);
    const before = watch.mark;
    await watch.until(({ event }) => event === 'synced', before);
    one.write('b.md', 'b');
    await watch.until(carried('uploaded', 'b.md'), before);
    expect(watch.events.flatMap((event) => event.deletedThere ?? [])).toEqual([]);
  });

  const noDisk = whyNoDisk();
  (noDisk === undefined ? it : it.skip)(
    'keeps running while the disk of its state is full, and reports it',
    async () => {
      const disk = SmallDisk.mount(1);
      try {
        const machine = join(home, 'one');
        mkdirSync(machine);
        symlinkSync(disk.path, join(machine, 'state'));
        const { one, two } = await pair();
        const watch = await watching(one, '--interval', '1');
        one.write('a.md', 'a');
        await watch.until(carried('uploaded', 'a.md'));
        const filler = join(disk.path, 'filler');
        const full = new Uint8Array(4_096);
        try {
          for (;;) appendFileSync(filler, full);
        } catch (error) {
          expect(error).toMatchObject({ code: 'ENOSPC' });
        }
        const before = watch.mark;
        await watch.until(({ event }) => event === 'problem', before);
        for (let index = 0; index < 200; index++) one.write(`n/${index}.md`, String(index));
        await watch.until(
          ({ event, stopped }) => event === 'stopped' && /disk is full/.test(stopped ?? ''),
          before,
        );
        rmSync(filler);
        await watch.until(({ event, files }) => event === 'synced' && files === 201, before);
        expect(await end(watch)).toMatchObject({ code: 0 });
        expect(await two.json(['sync', two.folder])).toMatchObject({ code: 0, files: 201, conflicts: [] });
        expect(await one.json(['sync', one.folder])).toMatchObject({ code: 0, files: 201, uploaded: [] });
      } finally {
        for (const each of running) await each.end('SIGKILL');
        running.clear();
        disk.unmount();
      }
    },
  );

  it('merges a folder that is replaced by its backup', async () => {
    const { one } = await pair();
    one.write('a.md', 'a');
    const watch = await watching(one, '--interval', '1');
    await watch.until(carried('uploaded', 'a.md'));
    const backup = join(one.home, 'backup');
    cpSync(one.folder, backup, { recursive: true });
    one.write('b.md', 'b');
    await watch.until(carried('uploaded', 'b.md'));
    const before = watch.mark;
    renameSync(one.folder, join(one.home, 'damaged'));
    renameSync(backup, one.folder);
    await watch.until(carried('downloaded', 'b.md'), before);
    expect(one.files()).toEqual({ 'a.md': 'a', 'b.md': 'b' });
    expect(watch.events.flatMap((event) => event.deletedThere ?? [])).toEqual([]);
  });
});
