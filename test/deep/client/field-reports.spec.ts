import { IGNORE_FILE } from '../../../client/src/folder/rules.js';
import { sealedPath } from '../../kit/simulator/cipher.js';
import { type Device, QUIETLY, World } from '../../kit/simulator/world.js';
import type { Nature } from '../../kit/simulator/volume.js';

const LINUX: Nature = { foldsCase: false, givesNfd: false, wholeSeconds: false, maxName: 255 };
const MAC: Nature = { foldsCase: true, givesNfd: true, wholeSeconds: false, maxName: 255 };
const STICK: Nature = { foldsCase: true, givesNfd: false, wholeSeconds: true, maxName: 255 };

function devices(...natures: Nature[]) {
  const world = new World(natures.length > 0 ? natures : [LINUX, LINUX]);
  return { world, one: world.device(0), two: world.device(1) };
}

const files = ({ volume }: Device) =>
  Object.fromEntries([...volume.files()].map(([path, { text }]) => [path, text]));
const left = ({ report }: Device) =>
  Object.fromEntries(report!.leftOver.map(({ path, reason }) => [path, reason]));

async function inTurn(...all: Device[]) {
  for (const device of all) await device.sync();
}

/** Syncs until nothing changes, and checks the rules of the simulation. */
async function soundEnd(world: World) {
  await world.comeToRest();
  expect(world.wrongs()).toEqual([]);
}

describe('a server restored from a backup', () => {
  it('deletes nothing and replaces no new text by an old one', async () => {
    const { world, one, two } = devices();
    one.person.save('a.md', 'old text');
    await inTurn(one, two);
    world.server.backUp();
    one.person.save('a.md', 'new text');
    one.person.save('b.md', 'new file');
    await inTurn(one, two, one);
    world.putServerBack();
    await inTurn(one, two, one, two);
    for (const device of [one, two]) {
      expect([...new Set(Object.values(files(device)))].sort()).toEqual(['new file', 'new text', 'old text']);
      expect(files(device)['a.md']).toBe('old text');
    }
    await soundEnd(world);
  });

  it('is detected when it knows the cursor but has lost acknowledged uploads', async () => {
    const { world, one } = devices();
    one.person.save('a.md', 'old text');
    await inTurn(one, one);
    world.server.backUp();
    one.person.save('a.md', 'new text');
    one.person.save('b.md', 'new file');
    // Killed after the uploads, before the log has shown them: the cursor is that of the backup.
    const heard = () => new TextDecoder().decode(one.state.written).split('"ahead":true').length - 1;
    const before = heard();
    await one.sync({ ...QUIETLY, killWhen: () => heard() === before + 2 });
    expect([...world.server.live().values()].sort()).toEqual(['new file', 'new text']);
    world.putServerBack();
    await inTurn(one, one);
    expect(files(one)).toEqual({
      'a.md': 'old text',
      'a (conflict from device0).md': 'new text',
      'b.md': 'new file',
    });
    await soundEnd(world);
  });

  it('is detected wherever a kill came between the response and the log', async () => {
    for (let killAt = 20; killAt < 60; killAt++)
      for (const seed of [1, 2, 3, 5, 8, 197]) {
        const { world, one, two } = devices();
        two.person.save('a.md', world.newText());
        await two.sync({ ...QUIETLY, seed, killAt });
        world.putServerBack();
        one.person.save('a.md', world.newText());
        await world.comeToRest();
        expect([killAt, seed, world.wrongs()]).toEqual([killAt, seed, []]);
      }
  });

  it('is compared in full, as after a compaction of the log', async () => {
    const { world, one, two } = devices();
    one.person.save('a.md', 'a');
    await inTurn(one, two);
    two.person.save('b.md', 'b');
    await inTurn(two);
    world.server.compact();
    await inTurn(one);
    expect(files(one)).toEqual({ 'a.md': 'a', 'b.md': 'b' });
    expect(one.report!.conflicts).toEqual([]);
  });
});

describe('an empty mount point', () => {
  it('deletes nothing, and is reported', async () => {
    const { world, one, two } = devices();
    one.person.save('a.md', 'a');
    await inTurn(one, two);
    world.toggleMount(one);
    await inTurn(one);
    expect(one.isRefused).toBe(true);
    world.toggleMount(one);
    await inTurn(one, two);
    expect([one.isRefused, files(two)]).toEqual([false, { 'a.md': 'a' }]);
  });

  it('that appears during a sync deletes nothing', async () => {
    for (let at = 1; at < 40; at++) {
      const { world, one } = devices();
      one.person.save('a.md', 'a');
      await inTurn(one, one);
      const { root, marker } = one.volume;
      await one.sync({
        ...QUIETLY,
        meanwhile: [
          {
            at,
            happen: () => void Object.assign(one.volume, { root: one.volume.directory(), marker: undefined }),
          },
        ],
      });
      expect([...world.server.live().values()]).toEqual(['a']);
      Object.assign(one.volume, { root, marker });
    }
  });
});

describe('mass deletions', () => {
  const many = (device: Device) => {
    for (let index = 0; index < 30; index++) device.person.save(`${index}.md`, `text ${index}`);
  };

  it('are carried out when they are confirmed', async () => {
    const { one, two } = devices();
    many(one);
    await inTurn(one, two);
    for (let index = 0; index < 25; index++) one.person.delete(`${index}.md`);
    await inTurn(one, two);
    expect(Object.keys(files(two))).toHaveLength(5);
    expect(two.asked).toEqual([['here', 25, 30]]);
    expect(one.asked).toEqual([['on the server', 25, 30]]);
  });

  it('are refused without confirmation, in both directions, while the rest syncs', async () => {
    const { one, two } = devices();
    many(one);
    await inTurn(one, two);
    for (let index = 0; index < 25; index++) one.person.delete(`${index}.md`);
    one.person.save('new.md', 'new');
    one.answer = false;
    await inTurn(one, two);
    expect(Object.keys(files(two))).toHaveLength(31);
    expect(one.report!.exitCode).toBe(3);
    expect(left(one)['7.md']).toMatch(/confirm/);
    one.answer = true;
    two.answer = false;
    await inTurn(one, two);
    expect(Object.keys(files(two))).toHaveLength(31);
    expect(two.report!.refused).toEqual(['here']);
  });
});

describe('names', () => {
  it('that are too long are reported and left out, and the rest syncs', async () => {
    const { one, two } = devices(LINUX, { ...LINUX, maxName: 36 });
    one.person.save(`${'n'.repeat(50)}.md`, 'long');
    one.person.save('a.md', 'a');
    await inTurn(one, two);
    expect(files(two)).toEqual({ 'a.md': 'a' });
    expect(Object.values(left(two))[0]).toMatch(/longer than this disk takes/);
    expect(two.report!.exitCode).toBe(3);
  });

  it('of conflict copies are shortened so that they fit', async () => {
    const { world, one, two } = devices();
    const name = `${'n'.repeat(250)}.md`;
    one.person.save(name, 'one');
    two.person.save(name, 'two');
    await inTurn(one, two, one);
    expect(Object.values(files(one)).sort()).toEqual(['one', 'two']);
    for (const path of Object.keys(files(one))) expect(Buffer.byteLength(path)).toBeLessThanOrEqual(255);
    await soundEnd(world);
  });

  it('that change only in case are one file on every disk', async () => {
    const { world, one, two } = devices(LINUX, STICK);
    one.person.save('d/note.md', 'text');
    await inTurn(one, two);
    two.person.rename('d/note.md', 'd/Note.md');
    await inTurn(two, one);
    expect(files(one)).toEqual({ 'd/Note.md': 'text' });
    one.person.rename('d', 'D');
    await inTurn(one, two);
    expect(files(two)).toEqual({ 'D/Note.md': 'text' });
    await soundEnd(world);
  });

  it('that a disk decomposes stay the same file', async () => {
    const { world, one, two } = devices(LINUX, MAC);
    one.person.save('K\u00f6ln.md', 'text');
    await inTurn(one, two, one, two);
    expect(files(two)).toEqual({ 'Ko\u0308ln.md': 'text' });
    two.person.save('Ko\u0308ln.md', 'more text');
    await inTurn(two, one);
    expect(files(one)).toEqual({ 'K\u00f6ln.md': 'more text' });
    await soundEnd(world);
  });
});

describe('one bad item', () => {
  it.each([0, 1, 2, 3, 4, 5, 6, 7])(
    'written by another client (%i) stops nothing and is reported',
    async (kind) => {
      const { world, one } = devices();
      world.poison(kind);
      one.person.save('a.md', 'a');
      await inTurn(one);
      expect([...world.server.live().values()]).toContain('a');
      expect(one.report!.leftOver).toHaveLength(1);
      expect([one.report!.stopped, one.report!.exitCode]).toEqual([undefined, 3]);
      expect(files(one)).toEqual({ 'a.md': 'a' });
    },
  );

  it('that the server has lost is reported by name, and the rest syncs', async () => {
    const { world, one, two } = devices();
    for (const name of ['a.md', 'b.md']) one.person.save(name, name);
    await inTurn(one);
    world.server.loseBlob(sealedPath('a.md'));
    await inTurn(two);
    expect(files(two)).toEqual({ 'b.md': 'b.md' });
    expect(left(two)).toEqual({ 'a.md': 'the server does not have it' });
  });

  it('that cannot be read is no deletion, and is reported', async () => {
    const { one, two } = devices();
    for (const name of ['a.md', 'b.md']) one.person.save(name, name);
    await inTurn(one, two);
    one.person.setReadable('a.md', false);
    one.person.save('b.md', 'edited');
    await inTurn(one, two);
    expect(files(two)).toEqual({ 'a.md': 'a.md', 'b.md': 'edited' });
    expect(left(one)['a.md']).toMatch(/cannot be read/);
  });

  it('that is a link in place of a directory is neither followed nor replaced', async () => {
    const { one, two } = devices();
    for (const name of ['d/a.md', 'b.md']) one.person.save(name, name);
    await inTurn(one, two);
    two.person.link('d');
    one.person.save('d/a.md', 'edited');
    one.person.save('b.md', 'too');
    await inTurn(one, two);
    expect(files(two)).toEqual({ 'b.md': 'too' });
    expect(Object.keys(left(two)).sort()).toEqual(['d', 'd/a.md']);
    expect(files(one)['d/a.md']).toBe('edited');
  });

  it('on a full disk or in a read-only folder does not prevent uploads', async () => {
    for (const limit of ['isFull', 'isReadOnly'] as const) {
      const { one, two } = devices();
      one.person.save('a.md', 'a');
      two.person.save('b.md', 'b');
      await inTurn(one);
      two.volume.marker = undefined;
      await inTurn(two, one, two);
      one.person.save('c.md', 'c');
      two.person.save('d.md', 'd');
      two.volume[limit] = true;
      await inTurn(one, two, one);
      expect(files(one)['d.md']).toBe('d');
      expect(files(two)['c.md']).toBeUndefined();
      expect(left(two)['c.md']).toMatch(/full|read-only/);
      two.volume[limit] = false;
      await inTurn(two);
      expect([files(two)['c.md'], two.report!.exitCode]).toEqual(['c', 0]);
    }
  });

  it('that is a link with a decomposed name is no deletion', async () => {
    const { world, one } = devices(MAC, LINUX);
    one.person.save('K\u00f6ln.md', 'text');
    await inTurn(one, one);
    one.person.link('Ko\u0308ln.md');
    await inTurn(one);
    expect([...world.server.live().values()]).toEqual(['text']);
    expect(Object.keys(left(one))).toEqual(['K\u00f6ln.md']);
  });

  it('that exceeds the size limit is reported and not sent', async () => {
    const { one, two } = devices();
    one.person.save('large.md', 'x'.repeat(1_001));
    one.person.save('a.md', 'a');
    await inTurn(one, two);
    expect(files(two)).toEqual({ 'a.md': 'a' });
    expect(left(one)['large.md']).toMatch(/larger than the limit/);
  });
});

describe('file times in whole seconds', () => {
  it('hide no edit of the same second', async () => {
    const { world, one, two } = devices(STICK, LINUX);
    one.person.save('a.md', 'text 1');
    await inTurn(one);
    one.person.save('a.md', 'text 2');
    await inTurn(one, two);
    expect(files(two)).toEqual({ 'a.md': 'text 2' });
    await soundEnd(world);
  });

  it('hide no edit that comes between the comparison and the replacement', async () => {
    for (let at = 1; at < 60; at++) {
      const { world, one, two } = devices(STICK, LINUX);
      one.person.save('a.md', 'text 1');
      await inTurn(one, two);
      world.ms += 5_000;
      await inTurn(one);
      two.person.save('a.md', 'text 2');
      await inTurn(two);
      one.person.touch('a.md');
      let isEdited = false;
      const happen = () => {
        isEdited = true;
        one.person.save('a.md', 'text 3');
      };
      await one.sync({ ...QUIETLY, meanwhile: [{ at, happen }] });
      await soundEnd(world);
      expect(Object.values(files(one)).includes('text 3')).toBe(isEdited);
    }
  });
});

describe('dangerous paths', () => {
  it('are neither uploaded nor written', async () => {
    const { world, one, two } = devices();
    one.person.save('.git/config', 'mine');
    one.person.save('a.md', 'a');
    world.poison(2);
    world.poison(3);
    await inTurn(one, two);
    expect(files(one)).toEqual({ '.git/config': 'mine', 'a.md': 'a' });
    expect(files(two)).toEqual({ 'a.md': 'a' });
    expect(Object.keys(left(two)).sort()).toEqual(['.git/config', 'd/.GIT/hooks']);
    expect([...world.server.live().values()]).not.toContain('mine');
  });
});

describe('a network that loses responses', () => {
  it('causes no conflict copy of an upload that arrived and was edited since', async () => {
    for (let seed = 1; seed < 60; seed++) {
      const { world, one } = devices();
      one.person.save('a.md', 'text 1');
      await inTurn(one, one);
      one.person.save('a.md', 'text 2');
      await one.sync({ ...QUIETLY, faults: 40, seed });
      one.person.save('a.md', 'text 3');
      await soundEnd(world);
      expect(files(one)).toEqual({ 'a.md': 'text 3' });
    }
  });

  it('causes no conflict copy with the same text', async () => {
    const { one, two } = devices();
    one.person.save('a.md', 'same');
    two.person.save('a.md', 'same');
    await inTurn(one, two);
    expect([two.report!.conflicts, files(two)]).toEqual([[], { 'a.md': 'same' }]);
  });
});

describe('edits and deletions', () => {
  it('an edit wins over a deletion, in both directions', async () => {
    const { one, two } = devices();
    for (const name of ['a.md', 'b.md']) one.person.save(name, name);
    await inTurn(one, two);
    one.person.delete('a.md');
    two.person.save('a.md', 'edited');
    two.person.delete('b.md');
    one.person.save('b.md', 'edited too');
    await inTurn(one, two, one);
    for (const device of [one, two])
      expect(files(device)).toEqual({ 'a.md': 'edited', 'b.md': 'edited too' });
  });

  it('a restored version is not deleted by a device that had deleted its content before', async () => {
    const { world, one, two } = devices();
    one.person.save('a.md', 'a');
    await inTurn(one, two);
    const before = one.state.copy();
    one.person.delete('a.md');
    await inTurn(one, two);
    world.server.restore('browser', sealedPath('a.md'), 0);
    Object.assign(one, { state: before });
    await inTurn(one, two);
    expect([files(one), files(two)]).toEqual([{ 'a.md': 'a' }, { 'a.md': 'a' }]);
  });

  it('an edit during the sync is not overwritten, at any step', async () => {
    for (let at = 1; at < 80; at++) {
      const { world, one, two } = devices();
      one.person.save('a.md', 'text 1');
      one.person.save('b.md', 'text 1');
      await inTurn(one, two, one);
      two.person.save('a.md', 'text 2');
      two.person.delete('b.md');
      await inTurn(two);
      let isEdited = false;
      const happen = () => {
        isEdited = true;
        one.person.save('a.md', 'mine a');
        one.person.replace('b.md', 'mine b');
      };
      await one.sync({ ...QUIETLY, meanwhile: [{ at, happen }] });
      await soundEnd(world);
      expect(Object.values(files(one)).includes('mine a')).toBe(isEdited);
    }
  });
});

describe('a kill or a loss of power at any step', () => {
  it.each([undefined, 0, 0.5])('loses nothing and reverts nothing (%s)', async (power) => {
    for (let killAt = 1; killAt < 120; killAt++) {
      const { world, one, two } = devices();
      one.person.save('a.md', 'text 1');
      one.person.save('b.md', 'text 1b');
      one.person.save('d/c.md', 'text 1c');
      await inTurn(one, two, one);
      two.person.save('a.md', 'text 2');
      two.person.delete('b.md');
      two.person.save('e/new.md', 'new');
      one.person.save('a.md', 'mine');
      one.person.delete('d/c.md');
      one.person.save('f.md', 'sent');
      await inTurn(two);
      await one.sync({ ...QUIETLY, killAt, power, seed: killAt });
      await soundEnd(world);
      expect(files(one)).toEqual({
        'a.md': 'text 2',
        'a (conflict from device0).md': 'mine',
        'e/new.md': 'new',
        'f.md': 'sent',
      });
    }
  });
});

describe('ignore rules', () => {
  it('exclude files on every device, delete nothing, and arrive before those files', async () => {
    const { one, two } = devices();
    one.person.save('a.tmp', 'temporary');
    one.person.save('a.md', 'a');
    await inTurn(one);
    one.person.save(IGNORE_FILE, '*.tmp\n');
    await inTurn(one, two);
    expect(files(one)['a.tmp']).toBe('temporary');
    expect(files(two)).toEqual({ 'a.md': 'a', [IGNORE_FILE]: '*.tmp\n' });
    one.person.delete('a.tmp');
    one.person.save(IGNORE_FILE, '\n');
    await inTurn(one, two);
    for (const device of [one, two]) expect(files(device)['a.tmp']).toBe('temporary');
  });

  it('that cannot be read stop the sync, so that excluded files are not sent', async () => {
    const { world, one } = devices();
    one.person.save(IGNORE_FILE, 'secret.md\n');
    one.person.save('secret.md', 'secret');
    await inTurn(one);
    one.person.setReadable(IGNORE_FILE, false);
    await inTurn(one);
    expect(one.report!.stopped).toBeDefined();
    one.person.link(IGNORE_FILE);
    await inTurn(one);
    expect(one.report!.stopped).toMatch(/no file of rules/);
    expect([...world.server.texts()]).not.toContain('secret');
  });
});
