import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  FolderSync,
  NodeDisk,
  NodeStateFile,
  type Report,
  systemClock,
  systemRandom,
} from '../../../client/src/folder/index.js';
import { describeOnForeignDisk, ForeignDisk } from '../../kit/foreign-disk.js';
import { answers, type Call } from '../../kit/simulator/calls.js';
import { SimulatedCipher } from '../../kit/simulator/cipher.js';
import { SimulatedDisk } from '../../kit/simulator/disk.js';
import { Ledger } from '../../kit/simulator/ledger.js';
import { SimulatedNetwork } from '../../kit/simulator/network.js';
import { SimulatedServer } from '../../kit/simulator/server.js';
import { Steps } from '../../kit/simulator/steps.js';
import { Volume } from '../../kit/simulator/volume.js';

describeOnForeignDisk('a folder on an exFAT disk', () => {
  let card: ForeignDisk;
  let home: string;
  let server: SimulatedServer;
  let nonces = 0;
  beforeEach(() => {
    card = ForeignDisk.mount(8);
    home = mkdtempSync(join(tmpdir(), 'foreign-disks-'));
    server = new SimulatedServer();
  });
  afterEach(() => {
    card.unmount();
    rmSync(home, { recursive: true });
  });

  const rootOf = (name: string) => (name === 'card' ? card.path : join(home, name));
  const at = (name: string, path: string) => join(rootOf(name), path);
  const write = (name: string, path: string, text: string) => {
    mkdirSync(join(at(name, path), '..'), { recursive: true });
    writeFileSync(at(name, path), text);
  };

  async function sync(name: string): Promise<Report> {
    mkdirSync(rootOf(name), { recursive: true });
    const stateFile = new NodeStateFile(join(home, `${name}-state/journal`));
    const folder = await FolderSync.open({
      parts: {
        disk: new NodeDisk(rootOf(name)),
        remote: new SimulatedNetwork(server, new Steps(), () => name, 0),
        cipher: new SimulatedCipher(() => ++nonces),
        ...{ clock: systemClock, random: systemRandom },
      },
      stateFile,
      workspace: 'w',
      options: { device: name, maxFileBytes: 100_000_000, streamAbove: 1_000_000 },
    });
    const report = await folder.sync();
    await stateFile.close();
    return report;
  }

  async function quietly(...names: string[]): Promise<void> {
    for (const name of names) {
      const { stopped, leftOver, conflicts } = await sync(name);
      expect([name, stopped, leftOver, conflicts]).toEqual([name, undefined, [], []]);
    }
  }

  function files(name: string): Record<string, string> {
    const names = readdirSync(rootOf(name), { recursive: true, withFileTypes: true });
    const found = names.filter((entry) => entry.isFile() && !entry.parentPath.includes('.cloud-sync'));
    const paths = found.map((entry) => join(entry.parentPath, entry.name));
    return Object.fromEntries(
      paths.map((path) => [path.slice(rootOf(name).length + 1), readFileSync(path, 'utf8')]).sort(),
    );
  }

  it('is detected as one that folds case, counts UTF-16 and refuses characters like Windows', async () => {
    expect(await new NodeDisk(card.path).traits()).toMatchObject({
      foldsCase: true,
      nameUnit: 'utf16',
      windowsCharacters: true,
    });
  });

  it('converges with another folder, and follows case-only renames in both directions', async () => {
    write('home', 'plan.md', 'plan');
    write('home', 'd/K\u00f6ln.md', 'K\u00f6ln');
    await quietly('home', 'card');
    expect(files('card')).toEqual(files('home'));

    renameSync(at('card', 'plan.md'), at('card', 'Plan.md'));
    write('card', 'd/new.md', 'new');
    await quietly('card', 'home');
    expect(Object.keys(files('home'))).toEqual(['Plan.md', 'd/K\u00f6ln.md', 'd/new.md']);

    renameSync(at('home', 'Plan.md'), at('home', 'PLAN.md'));
    rmSync(at('home', 'd/new.md'));
    await quietly('home', 'card');
    expect(Object.keys(files('card'))).toEqual(['PLAN.md', 'd/K\u00f6ln.md']);
    expect(files('card')).toEqual(files('home'));
  });

  it('reports each file that it cannot hold, and deletes none of them elsewhere', async () => {
    const fine = { 'a.md': 'small', 'd/fine.md': 'fine' };
    const not = { 'A.md': 'large', 'why?.md': 'why', 'a:b.md': 'x', 'd/end.': 'end' };
    for (const [path, text] of Object.entries({ ...fine, ...not })) write('home', path, text);
    await quietly('home');
    const { leftOver, stopped, exitCode } = await sync('card');
    expect([stopped, exitCode]).toEqual([undefined, 3]);
    const [told, here] = [leftOver.map(({ path }) => path).sort(), Object.keys(files('card'))];
    expect(told).toHaveLength(4);
    expect([...told, ...here].sort()).toEqual(Object.keys({ ...fine, ...not }).sort());
    write('card', 'd/fine.md', 'finer');
    await sync('card');
    await quietly('home');
    expect(files('home')).toEqual({ ...fine, ...not, 'd/fine.md': 'finer' });
  });

  it('reports a decomposed twin of a name where both can exist', async () => {
    write('card', 'K\u00f6ln.md', 'one');
    write('card', 'Ko\u0308ln.md', 'two');
    const twins = Object.keys(files('card')).length;
    const { leftOver } = await sync('card');
    expect(leftOver).toHaveLength(twins - 1);
    await quietly('home');
    expect(files('home')).toEqual({ 'K\u00f6ln.md': twins === 2 ? 'one' : 'two' });
    expect(Object.keys(files('card'))).toHaveLength(twins);
  });

  it('misses no edit although it keeps times in whole seconds', async () => {
    write('card', 'a.md', 'one');
    await quietly('card');
    for (const text of ['two', 'six', 'ten']) {
      write('card', 'a.md', text);
      await quietly('card', 'home');
      expect(files('home')).toEqual({ 'a.md': text });
      write('home', 'a.md', text.toUpperCase());
      await quietly('home', 'card');
      expect(files('card')).toEqual({ 'a.md': text.toUpperCase() });
    }
  });

  it('that is full gets what fits, reports the rest, and gets it once there is room', async () => {
    write('home', 'ballast', 'x'.repeat(5_000_000));
    await quietly('home', 'card');
    write('home', 'film.mov', 'f'.repeat(4_000_000));
    write('home', 'note.md', 'note');
    await quietly('home');
    const { stopped, leftOver, exitCode } = await sync('card');
    expect([stopped, exitCode]).toEqual([undefined, 3]);
    expect(leftOver).toEqual([{ path: 'film.mov', reason: expect.stringMatching(/disk is (too )?full/) }]);
    expect(Object.keys(files('card'))).toEqual(['ballast', 'note.md']);
    write('card', 'note.md', 'a note');
    await sync('card');
    rmSync(at('home', 'ballast'));
    await quietly('home', 'card', 'home');
    expect(files('card')).toEqual(files('home'));
    expect(Object.keys(files('card'))).toEqual(['film.mov', 'note.md']);
    expect(files('card')['note.md']).toBe('a note');
  });

  it('behaves like the case-folding disk of the simulator', async () => {
    const [a, d, da, db, otherA, otherDa, otherD] = [0, 2, 3, 4, 10, 11, 12];
    const made = [
      ...[
        ['new', a],
        ['new', otherA],
        ['stat', otherA],
        ['read', otherA],
        ['replace', otherA],
        ['read', otherA], // the system reports the old times of `a` for another second
      ],
      ...[
        ['rename', a, 3],
        ['new', da],
        ['new', otherDa],
        ['new', db],
        ['new', otherD],
        ['stat', otherD],
      ],
      ...[
        ['list', otherD],
        ['removeDirectory', otherD],
        ['remove', db],
        ['list', d],
      ],
    ].map(([what, path, other]) => [what, path, other ?? 0] as unknown as Call);
    const nature = { foldsCase: true, givesNfd: false, wholeSeconds: true, maxName: 255 };
    const volume = new Volume(nature, () => Date.now(), new Ledger());
    const real = await answers(new NodeDisk(card.path), made);
    expect(await answers(new SimulatedDisk(volume, new Steps()), made)).toEqual(real);
    expect(real[1]).toEqual(['new', 'A', 'exists']);
  });
});
