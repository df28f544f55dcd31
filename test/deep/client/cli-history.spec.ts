import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { settle } from '../../kit/cli-machines.js';
import { useMachineWithHistory } from '../../kit/history-machines.js';

const history = useMachineWithHistory();

async function save(path: string, ...contents: string[]): Promise<void> {
  for (const content of contents) {
    history.one.write(path, content);
    await settle(history.one);
  }
}

/** Lines in the format of the journal. */
const lines = (...records: object[]): string =>
  records
    .map((record) => JSON.stringify(record))
    .map((json) => `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`)
    .join('');

describe('log', () => {
  it('lists versions, newest first, also of a deleted file', async () => {
    await save('plan.md', 'one', 'second');
    history.one.remove('plan.md');
    await settle(history.one);
    const listed = await history.versions('plan.md');
    expect(listed.map(({ version, size, device }) => [version, size, device])).toEqual([
      [2, 6, 'one'],
      [1, 3, 'one'],
    ]);
    const { stdout } = await history.one.run(['log', history.at('plan.md')]);
    expect(stdout).toMatch(/^2 {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}6 B {2}one\n1 /);
    const never = await history.one.run(['log', history.at('never.md')]);
    expect(never).toMatchObject({ code: 0, stdout: 'the server has no version of never.md\n' });
  });
});

describe('restore of a file', () => {
  it('restores a version on every device as a new version', async () => {
    await save('plan.md', 'first', 'second', 'third');
    const done = await history.one.json(['restore', history.at('plan.md'), '--version', '1']);
    expect(done).toMatchObject({ code: 0, restored: ['plan.md'], conflicts: [], leftOver: [] });
    expect(done['what']).toMatch(/^version 1 of plan.md, of /);
    expect(await history.versions('plan.md')).toHaveLength(4);
    expect(await history.one.json(['restore', history.at('plan.md'), '--version', '1'])).toMatchObject({
      restored: [],
      same: 1,
    });
    expect(await history.versions('plan.md')).toHaveLength(4);
    const two = await history.second();
    await settle(two);
    expect(two.files()).toEqual({ 'plan.md': 'first' });
  });

  it('restores a deleted file, and a file as of a time', async () => {
    await save('deep/plan.md', 'first', 'second');
    const [, { savedAt } = { savedAt: '' }] = await history.versions('deep/plan.md');
    history.one.remove('deep/plan.md');
    await settle(history.one);
    expect(await history.one.json(['restore', history.at('deep/plan.md')])).toMatchObject({
      code: 0,
      restored: ['deep/plan.md'],
    });
    expect(history.one.files()).toEqual({ 'deep/plan.md': 'second' });
    expect(await history.one.json(['restore', history.at('deep/plan.md'), '--at', savedAt])).toMatchObject({
      code: 0,
    });
    expect(history.one.files()).toEqual({ 'deep/plan.md': 'first' });
  });

  it('uploads local edits first, so that the history has them', async () => {
    await save('plan.md', 'first', 'second');
    history.one.write('plan.md', 'not synced yet');
    expect(await history.one.json(['restore', history.at('plan.md'), '--version', '1'])).toMatchObject({
      code: 0,
      conflicts: [],
    });
    expect(history.one.files()).toEqual({ 'plan.md': 'first' });
    expect((await history.versions('plan.md')).map(({ size }) => size)).toEqual([5, 14, 6, 5]);
  });

  it('changes nothing in a dry run', async () => {
    await save('plan.md', 'first', 'second');
    history.one.write('plan.md', 'edited');
    const done = await history.one.json(['restore', history.at('plan.md'), '--version', '1', '--dry-run']);
    expect(done).toMatchObject({ code: 0, restored: ['plan.md'], removed: [] });
    expect(history.one.files()).toEqual({ 'plan.md': 'edited' });
    expect(await history.versions('plan.md')).toHaveLength(2);
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
      const { code, stderr } = await history.one.run(['restore', history.at('plan.md'), ...options]);
      expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    }
    expect(history.one.files()).toEqual({ 'plan.md': 'first' });
  });
});

describe('restore of the folder to a time', () => {
  it('restores the files of that time', async () => {
    await save('plan.md', 'first');
    history.one.write('gone.md', 'gone');
    await settle(history.one);
    const [{ savedAt } = { savedAt: '' }] = await history.versions('gone.md');
    history.one.remove('gone.md');
    history.one.write('plan.md', 'second');
    history.one.write('later.md', 'later');
    await settle(history.one);
    const two = await history.second();
    const done = await two.json(['restore', two.folder, '--at', savedAt]);
    expect(done).toMatchObject({ code: 0, restored: expect.any(Array), removed: ['later.md'] });
    expect(two.files()).toEqual({ 'plan.md': 'first', 'gone.md': 'gone' });
  });
});

describe('a restore that is killed', () => {
  it('continues where it was, and creates no version twice', async () => {
    const count = 40;
    for (let file = 0; file < count; file++) history.one.write(`note-${file}.md`, `old ${file}`);
    await history.one.run(['checkpoint', 'old', '--folder', history.one.folder]);
    for (let file = 0; file < count; file++) history.one.write(`note-${file}.md`, `new ${file}`);
    await settle(history.one);
    const killed = new Set<string>();
    for (let kill = 0; kill < 3; kill++) {
      const child = history.one.start(['restore', history.one.folder, '--checkpoint', 'old']);
      const before = olds().length;
      while (child.exitCode === null && olds().length < Math.min(count, before + 12))
        await new Promise((resolve) => setImmediate(resolve));
      child.kill('SIGKILL');
      await once(child, 'close');
      for (const name of olds()) killed.add(name);
    }
    expect(killed.size).toBeGreaterThan(0);
    expect(await history.one.json(['restore', history.one.folder, '--checkpoint', 'old'])).toMatchObject({
      code: 0,
      conflicts: [],
    });
    expect(olds()).toHaveLength(count);
    for (let file = 0; file < count; file += 13)
      expect(await history.versions(`note-${file}.md`)).toHaveLength(3);
  });

  function olds(): string[] {
    return Object.entries(history.one.files())
      .filter(([, content]) => content.startsWith('old'))
      .map(([name]) => name);
  }

  it('keeps a restored file that another device has edited since', async () => {
    await save('plan.md', 'first', 'second');
    const [, first] = await history.versions('plan.md');
    // As a kill right after the last sync leaves it.
    const record = join(history.one.state, 'restore');
    await history.one.run(['restore', history.at('plan.md'), '--version', '1']);
    mkdirSync(history.one.state, { recursive: true });
    writeFileSync(
      record,
      lines({ t: 'begun', what: `version ${first?.id} plan.md` }, { t: 'done', path: 'plan.md' }),
    );
    const two = await history.second();
    await settle(two);
    two.write('plan.md', 'edited on another device');
    await settle(two);
    const again = await history.one.json(['restore', history.at('plan.md'), '--version', '1']);
    expect(again).toMatchObject({ code: 0, restored: [], before: 1 });
    expect(again.stderr).toMatch(/broken off goes on: 1 files/);
    expect(history.one.files()['plan.md']).toBe('edited on another device');
    expect(await history.versions('plan.md')).toHaveLength(4);
    expect(readFileSync(record, 'utf8')).toBe('');
    expect(await history.one.json(['restore', history.at('plan.md'), '--version', '1'])).toMatchObject({
      restored: ['plan.md'],
    });
  });
});
