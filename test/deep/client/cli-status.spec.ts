import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../kit/deployment.js';
import { settle, useMachines } from '../../kit/cli-machines.js';

const machines = useMachines();

describe('conflicts and trash', () => {
  it('list conflict copies and deleted files', async () => {
    const { one, two } = await machines.pair();
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
    const { one, workspace } = await machines.pair();
    one.write('a.md', 'a');
    expect(await one.json(['status', one.folder])).toMatchObject({
      ...{ code: 0, workspace, device: 'one', files: 0, process: null, lastSync: null },
      next: { operations: { upload: 1 }, leftOver: [], problem: null },
    });
    await settle(one);
    expect(await one.json(['status', one.folder])).toMatchObject({ files: 1, next: { operations: {} } });
    const copy = join(machines.home, 'elsewhere');
    cpSync(one.folder, copy, { recursive: true });
    expect(await one.run(['status', copy])).toMatchObject({ code: 2 });
  });

  it('report a sound folder as sound, and name each defect', async () => {
    const { one } = await machines.pair();
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
    expect(await machines.machine('one').run(args)).toMatchObject({ code });
  });

  it('has the version of the package with --version', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'client/package.json'), 'utf8'));
    expect((await machines.machine('one').run(['--version'])).stdout).toBe(`${version}\n`);
  });

  it('prints an error as one JSON document with --json', async () => {
    const ended = await machines.machine('one').json(['status', machines.home]);
    expect(ended).toMatchObject({ code: 2, exitCode: 2, error: expect.stringMatching(/not set up/) });
  });
});
