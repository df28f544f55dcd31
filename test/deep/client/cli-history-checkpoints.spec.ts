import { rmSync, writeFileSync } from 'node:fs';
import { settle } from '../../kit/cli-machines.js';
import { useMachineWithHistory } from '../../kit/history-machines.js';

const history = useMachineWithHistory();

describe('checkpoints', () => {
  async function mess(): Promise<string> {
    history.one.write('plan.md', 'the plan');
    history.one.write('a/b.md', 'b');
    history.one.write('same.md', 'same');
    const made = await history.one.json(['checkpoint', 'before the mess', '--folder', history.one.folder]);
    expect(made).toMatchObject({ code: 0, checkpoint: { label: 'before the mess', cursor: 3 } });
    rmSync(history.at('a'), { recursive: true });
    history.one.write('a', 'a file where a directory was');
    history.one.remove('plan.md');
    history.one.write('plan.md/drafts.md', 'and the reverse');
    history.one.write('junk.md', 'junk');
    await settle(history.one);
    return (made['checkpoint'] as { id: string }).id;
  }
  const then = { 'plan.md': 'the plan', 'a/b.md': 'b', 'same.md': 'same' };

  it('are listed on every device and restore the folder', async () => {
    const [id, two] = [await mess(), await history.second()];
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
    await settle(history.one);
    expect(history.one.files()).toEqual(then);
    expect(await history.one.json(['restore', history.one.folder, '--checkpoint', id])).toMatchObject({
      ...{ code: 0, restored: [], removed: [] },
    });
  });

  it('can restore a single path', async () => {
    const id = await mess();
    const done = await history.one.json(['restore', history.at('plan.md'), '--checkpoint', id]);
    expect(done).toMatchObject({ code: 0, restored: ['plan.md'], removed: ['plan.md/drafts.md'] });
    expect(history.one.files()).toEqual({
      'plan.md': 'the plan',
      a: 'a file where a directory was',
      'same.md': 'same',
      'junk.md': 'junk',
    });
  });

  it('must be named by id when two have the same label', async () => {
    for (let count = 0; count < 2; count++)
      await history.one.run(['checkpoint', 'twice', '--folder', history.one.folder]);
    const { code, stderr } = await history.one.run(['restore', history.one.folder, '--checkpoint', 'twice']);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/several checkpoints are called twice/)]);
  });

  it('keep later edits in the history', async () => {
    const [id, two] = [await mess(), await history.second()];
    await settle(two);
    rmSync(history.at('junk.md'));
    writeFileSync(history.at('same.md'), 'edited here');
    two.write('plan.md/drafts.md', 'edited there');
    await settle(two);
    // The first sync of the restore takes both edits, so the history has them.
    expect(await history.one.json(['restore', history.one.folder, '--checkpoint', id])).toMatchObject({
      code: 0,
      conflicts: [],
    });
    expect(history.one.files()).toEqual(then);
    const kept = [await history.versions('same.md'), await history.versions('plan.md/drafts.md')];
    expect(kept.map((list) => list.map(({ size }) => size))).toEqual([
      [4, 11, 4],
      [12, 15],
    ]);
  });

  it('need --yes when many files would be removed', async () => {
    history.one.write('kept.md', 'kept');
    await history.one.run(['checkpoint', 'few', '--folder', history.one.folder]);
    for (let count = 0; count < 30; count++) history.one.write(`new-${count}.md`, String(count));
    await settle(history.one);
    const asked = await history.one.json(['restore', history.one.folder, '--checkpoint', 'few']);
    expect(asked).toMatchObject({ code: 4, removed: [] });
    expect(Object.keys(history.one.files())).toHaveLength(31);
    expect(
      await history.one.json(['restore', history.one.folder, '--checkpoint', 'few', '--yes']),
    ).toMatchObject({
      code: 0,
    });
    expect(history.one.files()).toEqual({ 'kept.md': 'kept' });
  });

  it('restore files whose local deletion was not confirmed', async () => {
    for (let count = 0; count < 30; count++) history.one.write(`note-${count}.md`, String(count));
    await history.one.run(['checkpoint', 'all', '--folder', history.one.folder]);
    for (let count = 0; count < 30; count++) history.one.remove(`note-${count}.md`);
    expect(await history.one.run(['sync', history.one.folder])).toMatchObject({ code: 4 });
    const done = await history.one.json(['restore', history.one.folder, '--checkpoint', 'all']);
    expect((done['restored'] as string[]).length).toBe(30);
    expect(Object.keys(history.one.files())).toHaveLength(30);
    expect(await history.one.run(['sync', history.one.folder])).toMatchObject({ code: 0 });
  });
});
