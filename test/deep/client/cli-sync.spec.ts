import { readdirSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { settle, useMachines } from '../../kit/cli-machines.js';

const machines = useMachines();

describe('sync', () => {
  it('carries files both ways', async () => {
    const { one, two } = await machines.pair();
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
    const { one, two } = await machines.pair();
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
    const { one, two } = await machines.pair();
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
    const { one } = await machines.pair();
    symlinkSync('x', join(one.folder, 'a\u001b[31mred\u202e'));
    const { stdout } = await one.run(['sync', one.folder]);
    expect(stdout).toContain('a\\u{1b}[31mred\\u{202e}');
    expect(stdout).not.toContain('\u001b');
  });

  it('syncs only the selected folders, and files up to a size', async () => {
    const { one, two } = await machines.pair();
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

  it('accepts limits in bytes per second, and refuses one that is not a size', async () => {
    const { one } = await machines.pair();
    one.write('large.bin', 'x'.repeat(150_000));
    expect(await one.run(['sync', one.folder, '--limit-up', '500kB'])).toMatchObject({ code: 0 });
    const wrong = await one.run(['sync', one.folder, '--limit-down', 'slow']);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringMatching(/slow is not a size/)]);
  });
});
