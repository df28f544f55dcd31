import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { Machine } from '../../kit/command-line.js';
import { startService, type TestService, type TestUser } from '../../kit/index.js';

/** Versions, checkpoints and restores on the command line, against the real service. */
let service: TestService;
let user: TestUser;
let home: string;
let one: Machine;
let workspace: string;
beforeAll(async () => {
  service = await startService({ isAtBaseUrl: true });
});
afterAll(() => service.close());

let users = 0;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'cli-history-'));
  user = await service.user(`history${++users}`);
  one = machine('one');
  const made = await one.json(['init', one.folder, '--new', 'Notes', '--device', 'one']);
  expect(made.code).toBe(0);
  workspace = String(made['workspace']);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function machine(name: string): Machine {
  const env = { SYNC_URL: service.url, ACCESS_TOKEN: user.token, VAULT_PASSWORD: 'the vault password' };
  return new Machine(join(home, name), env);
}

/** A second machine on the same workspace. */
async function second(): Promise<Machine> {
  const two = machine('two');
  const args = ['init', two.folder, '--workspace', workspace, '--device', 'two'];
  expect(await two.run(args)).toMatchObject({ code: 0 });
  return two;
}

async function settle(...machines: Machine[]): Promise<void> {
  for (const each of machines) expect(await each.run(['sync', each.folder])).toMatchObject({ code: 0 });
}

const at = (path: string, of = one): string => join(of.folder, path);

async function save(path: string, ...contents: string[]): Promise<void> {
  for (const content of contents) {
    one.write(path, content);
    await settle(one);
  }
}

/** Lines in the format of the journal. */
const lines = (...records: object[]): string =>
  records
    .map((record) => JSON.stringify(record))
    .map((json) => `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`)
    .join('');

interface Listed {
  readonly version: number;
  readonly id: string;
  readonly savedAt: string;
  readonly size: number;
  readonly device: string | null;
}
const versions = async (path: string): Promise<Listed[]> =>
  (await one.json(['log', at(path)]))['versions'] as Listed[];

describe('log', () => {
  it('lists versions, newest first, also of a deleted file', async () => {
    await save('plan.md', 'one', 'second');
    one.remove('plan.md');
    await settle(one);
    const listed = await versions('plan.md');
    expect(listed.map(({ version, size, device }) => [version, size, device])).toEqual([
      [2, 6, 'one'],
      [1, 3, 'one'],
    ]);
    const { stdout } = await one.run(['log', at('plan.md')]);
    expect(stdout).toMatch(/^2 {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}6 B {2}one\n1 /);
    const never = await one.run(['log', at('never.md')]);
    expect(never).toMatchObject({ code: 0, stdout: 'the server has no version of never.md\n' });
  });
});

describe('restore of a file', () => {
  it('restores a version on every device as a new version', async () => {
    await save('plan.md', 'first', 'second', 'third');
    const done = await one.json(['restore', at('plan.md'), '--version', '1']);
    expect(done).toMatchObject({ code: 0, restored: ['plan.md'], conflicts: [], leftOver: [] });
    expect(done['what']).toMatch(/^version 1 of plan.md, of /);
    expect(await versions('plan.md')).toHaveLength(4);
    expect(await one.json(['restore', at('plan.md'), '--version', '1'])).toMatchObject({
      restored: [],
      same: 1,
    });
    expect(await versions('plan.md')).toHaveLength(4);
    const two = await second();
    await settle(two);
    expect(two.files()).toEqual({ 'plan.md': 'first' });
  });

  it('restores a deleted file, and a file as of a time', async () => {
    await save('deep/plan.md', 'first', 'second');
    const [, { savedAt } = { savedAt: '' }] = await versions('deep/plan.md');
    one.remove('deep/plan.md');
    await settle(one);
    expect(await one.json(['restore', at('deep/plan.md')])).toMatchObject({
      code: 0,
      restored: ['deep/plan.md'],
    });
    expect(one.files()).toEqual({ 'deep/plan.md': 'second' });
    expect(await one.json(['restore', at('deep/plan.md'), '--at', savedAt])).toMatchObject({ code: 0 });
    expect(one.files()).toEqual({ 'deep/plan.md': 'first' });
  });

  it('uploads local edits first, so that the history has them', async () => {
    await save('plan.md', 'first', 'second');
    one.write('plan.md', 'not synced yet');
    expect(await one.json(['restore', at('plan.md'), '--version', '1'])).toMatchObject({
      code: 0,
      conflicts: [],
    });
    expect(one.files()).toEqual({ 'plan.md': 'first' });
    expect((await versions('plan.md')).map(({ size }) => size)).toEqual([5, 14, 6, 5]);
  });

  it('changes nothing in a dry run', async () => {
    await save('plan.md', 'first', 'second');
    one.write('plan.md', 'edited');
    const done = await one.json(['restore', at('plan.md'), '--version', '1', '--dry-run']);
    expect(done).toMatchObject({ code: 0, restored: ['plan.md'], removed: [] });
    expect(one.files()).toEqual({ 'plan.md': 'edited' });
    expect(await versions('plan.md')).toHaveLength(2);
  });

  it('is refused for an unknown version, time or checkpoint, and changes nothing', async () => {
    await save('plan.md', 'first');
    for (const [options, message] of [
      [[], /say which version/],
      [['--version', '9'], /no version 9/],
      [['--at', '2001-01-01'], /so old/],
      [['--at', 'yesterday'], /is not a date/],
      [['--checkpoint', 'x'], /no checkpoint x/],
    ] as const) {
      const { code, stderr } = await one.run(['restore', at('plan.md'), ...options]);
      expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    }
    expect(one.files()).toEqual({ 'plan.md': 'first' });
  });
});

describe('checkpoints', () => {
  async function mess(): Promise<string> {
    one.write('plan.md', 'the plan');
    one.write('a/b.md', 'b');
    one.write('same.md', 'same');
    const made = await one.json(['checkpoint', 'before the mess', '--folder', one.folder]);
    expect(made).toMatchObject({ code: 0, checkpoint: { label: 'before the mess', cursor: 3 } });
    rmSync(at('a'), { recursive: true });
    one.write('a', 'a file where a directory was');
    one.remove('plan.md');
    one.write('plan.md/drafts.md', 'and the reverse');
    one.write('junk.md', 'junk');
    await settle(one);
    return (made['checkpoint'] as { id: string }).id;
  }
  const then = { 'plan.md': 'the plan', 'a/b.md': 'b', 'same.md': 'same' };

  it('are listed on every device and restore the folder', async () => {
    const [id, two] = [await mess(), await second()];
    await settle(two);
    const listed = await two.json(['checkpoints', two.folder]);
    expect(listed['checkpoints']).toMatchObject([{ id, label: 'before the mess', kind: 'manual' }]);
    const planned = await two.json(['restore', two.folder, '--checkpoint', 'before the mess', '--dry-run']);
    expect(planned).toMatchObject({
      ...{ code: 0, restored: ['a/b.md', 'plan.md'], lost: [] },
      removed: ['a', 'junk.md', 'plan.md/drafts.md'],
    });
    const done = await two.json(['restore', two.folder, '--checkpoint', 'before the mess']);
    expect(done).toMatchObject({ code: 0, restored: expect.any(Array), leftOver: [], stopped: null });
    expect(two.files()).toEqual(then);
    await settle(one);
    expect(one.files()).toEqual(then);
    expect(await one.json(['restore', one.folder, '--checkpoint', id])).toMatchObject({
      ...{ code: 0, restored: [], removed: [] },
    });
  });

  it('can restore a single path', async () => {
    const id = await mess();
    const done = await one.json(['restore', at('plan.md'), '--checkpoint', id]);
    expect(done).toMatchObject({ code: 0, restored: ['plan.md'], removed: ['plan.md/drafts.md'] });
    expect(one.files()).toEqual({
      'plan.md': 'the plan',
      a: 'a file where a directory was',
      'same.md': 'same',
      'junk.md': 'junk',
    });
  });

  it('must be named by id when two have the same label', async () => {
    for (let count = 0; count < 2; count++) await one.run(['checkpoint', 'twice', '--folder', one.folder]);
    const { code, stderr } = await one.run(['restore', one.folder, '--checkpoint', 'twice']);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/several checkpoints are called twice/)]);
  });

  it('keep later edits in the history', async () => {
    const [id, two] = [await mess(), await second()];
    await settle(two);
    rmSync(at('junk.md'));
    writeFileSync(at('same.md'), 'edited here');
    two.write('plan.md/drafts.md', 'edited there');
    await settle(two);
    // The first sync of the restore takes both edits, so the history has them.
    expect(await one.json(['restore', one.folder, '--checkpoint', id])).toMatchObject({
      code: 0,
      conflicts: [],
    });
    expect(one.files()).toEqual(then);
    const kept = [await versions('same.md'), await versions('plan.md/drafts.md')];
    expect(kept.map((list) => list.map(({ size }) => size))).toEqual([
      [4, 11, 4],
      [12, 15],
    ]);
  });

  it('need --yes when many files would be removed', async () => {
    one.write('kept.md', 'kept');
    await one.run(['checkpoint', 'few', '--folder', one.folder]);
    for (let count = 0; count < 30; count++) one.write(`new-${count}.md`, String(count));
    await settle(one);
    const asked = await one.json(['restore', one.folder, '--checkpoint', 'few']);
    expect(asked).toMatchObject({ code: 4, removed: [] });
    expect(Object.keys(one.files())).toHaveLength(31);
    expect(await one.json(['restore', one.folder, '--checkpoint', 'few', '--yes'])).toMatchObject({
      code: 0,
    });
    expect(one.files()).toEqual({ 'kept.md': 'kept' });
  });

  it('restore files whose local deletion was not confirmed', async () => {
    for (let count = 0; count < 30; count++) one.write(`note-${count}.md`, String(count));
    await one.run(['checkpoint', 'all', '--folder', one.folder]);
    for (let count = 0; count < 30; count++) one.remove(`note-${count}.md`);
    expect(await one.run(['sync', one.folder])).toMatchObject({ code: 4 });
    const done = await one.json(['restore', one.folder, '--checkpoint', 'all']);
    expect((done['restored'] as string[]).length).toBe(30);
    expect(Object.keys(one.files())).toHaveLength(30);
    expect(await one.run(['sync', one.folder])).toMatchObject({ code: 0 });
  });
});

describe('restore of the folder to a time', () => {
  it('restores the files of that time', async () => {
    await save('plan.md', 'first');
    one.write('gone.md', 'gone');
    await settle(one);
    const [{ savedAt } = { savedAt: '' }] = await versions('gone.md');
    one.remove('gone.md');
    one.write('plan.md', 'second');
    one.write('later.md', 'later');
    await settle(one);
    const two = await second();
    const done = await two.json(['restore', two.folder, '--at', savedAt]);
    expect(done).toMatchObject({ code: 0, restored: expect.any(Array), removed: ['later.md'] });
    expect(two.files()).toEqual({ 'plan.md': 'first', 'gone.md': 'gone' });
  });
});

describe('a restore that is killed', () => {
  it('continues where it was, and creates no version twice', async () => {
    const count = 40;
    for (let file = 0; file < count; file++) one.write(`note-${file}.md`, `old ${file}`);
    await one.run(['checkpoint', 'old', '--folder', one.folder]);
    for (let file = 0; file < count; file++) one.write(`note-${file}.md`, `new ${file}`);
    await settle(one);
    const killed = new Set<string>();
    for (let kill = 0; kill < 3; kill++) {
      const child = one.start(['restore', one.folder, '--checkpoint', 'old']);
      const before = olds().length;
      while (child.exitCode === null && olds().length < Math.min(count, before + 12))
        await new Promise((resolve) => setImmediate(resolve));
      child.kill('SIGKILL');
      await once(child, 'close');
      for (const name of olds()) killed.add(name);
    }
    expect(killed.size).toBeGreaterThan(0);
    expect(await one.json(['restore', one.folder, '--checkpoint', 'old'])).toMatchObject({
      code: 0,
      conflicts: [],
    });
    expect(olds()).toHaveLength(count);
    for (let file = 0; file < count; file += 13) expect(await versions(`note-${file}.md`)).toHaveLength(3);
  });

  function olds(): string[] {
    return Object.entries(one.files())
      .filter(([, content]) => content.startsWith('old'))
      .map(([name]) => name);
  }

  it('keeps a restored file that another device has edited since', async () => {
    await save('plan.md', 'first', 'second');
    const [, first] = await versions('plan.md');
    // As a kill right after the last sync leaves it.
    const record = join(one.state, 'restore');
    await one.run(['restore', at('plan.md'), '--version', '1']);
    mkdirSync(one.state, { recursive: true });
    writeFileSync(
      record,
      lines({ t: 'begun', what: `version ${first?.id} plan.md` }, { t: 'done', path: 'plan.md' }),
    );
    const two = await second();
    await settle(two);
    two.write('plan.md', 'edited on another device');
    await settle(two);
    const again = await one.json(['restore', at('plan.md'), '--version', '1']);
    expect(again).toMatchObject({ code: 0, restored: [], before: 1 });
    expect(again.stderr).toMatch(/broken off goes on: 1 files/);
    expect(one.files()['plan.md']).toBe('edited on another device');
    expect(await versions('plan.md')).toHaveLength(4);
    expect(readFileSync(record, 'utf8')).toBe('');
    expect(await one.json(['restore', at('plan.md'), '--version', '1'])).toMatchObject({
      restored: ['plan.md'],
    });
  });
});
