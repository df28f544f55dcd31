import {
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import {
  FolderSync,
  NodeDisk,
  NodeStateFile,
  systemClock,
  systemRandom,
} from '../../../client/src/folder/index.js';
import { SimulatedCipher } from '../../kit/simulator/cipher.js';
import { answers, calls } from '../../kit/simulator/calls.js';
import { SimulatedDisk } from '../../kit/simulator/disk.js';
import { Ledger } from '../../kit/simulator/ledger.js';
import { SimulatedNetwork } from '../../kit/simulator/network.js';
import { SimulatedServer } from '../../kit/simulator/server.js';
import { Steps } from '../../kit/simulator/steps.js';
import { Volume } from '../../kit/simulator/volume.js';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'real-folder-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** Every file below a directory, except the client's own. */
function files(root: string, prefix = ''): Record<string, string> {
  const all: Record<string, string> = {};
  for (const name of readdirSync(join(root, prefix))) {
    const path = join(prefix, name);
    const stat = lstatSync(join(root, path));
    if (path === '.cloud-sync') continue;
    if (stat.isDirectory()) Object.assign(all, files(root, path));
    else all[path] = stat.isFile() ? readFileSync(join(root, path), 'utf8') : 'link';
  }
  return all;
}

describe('folders of this machine', () => {
  const server = new SimulatedServer();
  let nonces = 0;

  async function sync(name: string) {
    const root = join(home, name);
    mkdirSync(root, { recursive: true });
    const stateFile = new NodeStateFile(join(home, `${name}-state/journal`));
    const remote = new SimulatedNetwork(server, new Steps(), () => name, 0);
    const cipher = new SimulatedCipher(() => ++nonces);
    const folder = await FolderSync.open({
      parts: { disk: new NodeDisk(root), remote, cipher, clock: systemClock, random: systemRandom },
      stateFile,
      workspace: 'w',
      options: { device: name, maxFileBytes: 1_000_000 },
    });
    const report = await folder.sync();
    await stateFile.close();
    return report;
  }

  it('converge after edits, conflicts, moved directories, links and a killed run', async () => {
    const [one, two] = [join(home, 'one'), join(home, 'two')];
    const write = (path: string, text: string) => {
      mkdirSync(join(path, '..'), { recursive: true });
      writeFileSync(path, text);
    };
    write(join(one, 'a.md'), 'a');
    write(join(one, 'd/e/b.md'), 'b');
    write(join(one, 'empty'), '');
    write(join(one, '.git/config'), 'mine');
    for (const name of ['one', 'two']) expect((await sync(name)).exitCode).toBe(0);
    expect(files(two)).toEqual({ 'a.md': 'a', [join('d', 'e', 'b.md')]: 'b', empty: '' });

    write(join(one, 'a.md'), 'one');
    write(join(two, 'a.md'), 'two');
    renameSync(join(one, 'd'), join(one, 'moved'));
    rmSync(join(one, 'empty'));
    symlinkSync('/etc', join(two, 'link'));
    write(join(two, '.cloud-sync/staging/left-behind'), 'of a run that was killed');
    await sync('one');
    const second = await sync('two');
    expect(second.conflicts).toEqual([{ path: 'a.md', copy: 'a (conflict from two).md' }]);
    expect(second.leftOver).toEqual([{ path: 'link', reason: expect.stringMatching(/symbolic link/) }]);
    expect(second.exitCode).toBe(3);
    await sync('one');
    const expected = {
      'a.md': 'one',
      'a (conflict from two).md': 'two',
      [join('moved', 'e', 'b.md')]: 'b',
    };
    expect(files(one)).toEqual({ ...expected, [join('.git', 'config')]: 'mine' });
    expect(files(two)).toEqual({ ...expected, link: 'link' });
    expect(readdirSync(two).sort()).not.toContain('d');
    expect(readdirSync(join(two, '.cloud-sync/staging'))).toEqual([]);

    const quiet = await sync('two');
    expect([quiet.hasChanged, quiet.rounds, quiet.files]).toEqual([false, 1, 3]);
  });
});

describe('changes by other programs', () => {
  const server = new SimulatedServer();
  let nonces = 0;
  async function sync(name: string, streamAbove: number) {
    const root = join(home, name);
    mkdirSync(root, { recursive: true });
    const stateFile = new NodeStateFile(join(home, `${name}-state/journal`));
    const folder = await FolderSync.open({
      parts: {
        disk: new NodeDisk(root),
        remote: new SimulatedNetwork(server, new Steps(), () => name, 0),
        cipher: new SimulatedCipher(() => ++nonces),
        ...{ clock: systemClock, random: systemRandom },
      },
      stateFile,
      workspace: 'w',
      options: { device: name, maxFileBytes: 10_000_000, streamAbove },
    });
    const report = await folder.sync();
    await stateFile.close();
    expect([report.stopped, report.leftOver, report.conflicts]).toEqual([undefined, [], []]);
  }

  it.each([0, 1_000_000])('are followed, with streams above %i bytes', async (streamAbove) => {
    const [one, two] = [`one ${streamAbove}`, `two ${streamAbove}`];
    const at = (path: string) => join(home, one, path);
    const both = async () => {
      for (const name of [one, two]) await sync(name, streamAbove);
      return files(join(home, two));
    };
    mkdirSync(join(home, one));
    writeFileSync(at('linked'), 'one');
    linkSync(at('linked'), at('twin'));
    writeFileSync(at('sparse'), '');
    truncateSync(at('sparse'), 1_100_000);
    expect(Object.keys(await both()).sort()).toEqual(['linked', 'sparse', 'twin']);

    writeFileSync(at('twin'), 'two'); // changes the other name too
    truncateSync(at('sparse'), 1_200_000);
    expect(await both()).toMatchObject({ linked: 'two', twin: 'two' });
    expect(lstatSync(join(home, two, 'sparse')).size).toBe(1_200_000);

    // An editor saves under another name and renames; it keeps times and size, a backup, and a lock.
    const { atime, mtime } = lstatSync(at('linked'));
    for (const [name, text] of Object.entries({
      '.linked.swp': 'x',
      '.#linked': 'x',
      'linked~': 'two',
      new: 'six',
    }))
      writeFileSync(at(name), text);
    utimesSync(at('new'), atime, mtime);
    renameSync(at('new'), at('linked'));
    // Another sync service has its own temporary files and its own name for a conflict.
    for (const name of ['~syncthing~a.tmp', '.dropbox', 'a (conflicted copy 2026-01-01).md'])
      writeFileSync(at(name), name);
    const after = await both();
    expect(after).toMatchObject({ linked: 'six', twin: 'two', 'linked~': 'two' });
    const kept = ['a (conflicted copy 2026-01-01).md', 'linked', 'linked~', 'sparse', 'twin'];
    expect(Object.keys(after).sort()).toEqual(kept);
    for (const path of Object.keys(after)) rmSync(at(path));
    expect(await both()).toEqual({});
  });
});

it('the simulated disk behaves like the real one', async () => {
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(calls, async (made) => {
      const root = join(home, String(++runs));
      mkdirSync(root);
      symlinkSync(tmpdir(), join(root, 'link'));
      const nature = { foldsCase: false, givesNfd: false, wholeSeconds: false, maxName: 255 };
      const volume = new Volume(nature, () => Date.now(), new Ledger());
      volume.put('link', volume.link());
      const real = await answers(new NodeDisk(root), made);
      expect(await answers(new SimulatedDisk(volume, new Steps()), made)).toEqual(real);
    }),
    { numRuns: 150, seed: 7 },
  );
});
