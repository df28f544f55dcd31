import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkRoom } from '../../../client/src/folder/contents.js';
import { NodeDisk } from '../../../client/src/folder/node-disk.js';
import { diskError } from '../../../client/src/folder/node-errors.js';
import { inParent } from '../../../client/src/folder/safe-parents.js';
import { AlreadyRunning, Lock } from '../../../client/src/folder/lock.js';
import { NodeStateFile } from '../../../client/src/folder/node-state-file.js';
import type { Stat } from '../../../client/src/folder/ports.js';
import { SmallDisk, whyNoDisk } from '../../kit/small-disk.js';

let home: string;
let root: string;
let outside: string;
let disk: NodeDisk;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'folder-'));
  root = join(home, 'folder');
  outside = join(home, 'outside');
  mkdirSync(root);
  mkdirSync(outside);
  disk = new NodeDisk(root);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const put = (path: string, text: string) => {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), text);
};
const text = (path: string) => readFileSync(join(root, path), 'utf8');
const bytes = (content: string) => new TextEncoder().encode(content);
const stat = async (path: string): Promise<Stat> => (await disk.stat(path))!;
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error: unknown) => (error as { failure?: string }).failure ?? error,
  );

async function readAll(path: string, expected?: Stat): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of disk.read(path, expected ?? (await stat(path)))) parts.push(part);
  return Buffer.concat(parts).toString();
}

describe('a directory of this machine', () => {
  it('lists exact names with their kinds, without the directory of the client', async () => {
    put('d/a.md', 'x');
    put('K\u00f6ln', '1');
    put('Ko\u0308ln', '2');
    symlinkSync('/etc', join(root, 'link'));
    execFileSync('mkfifo', [join(root, 'pipe')]);
    await disk.writeMarker('m', undefined);
    const kinds = Object.fromEntries((await disk.list('')).map(({ name, stat: { kind } }) => [name, kind]));
    expect(kinds).toEqual({
      d: 'directory',
      'K\u00f6ln': 'file',
      'Ko\u0308ln': 'file',
      link: 'link',
      pipe: 'other',
    });
    expect(await disk.list('d')).toHaveLength(1);
    expect(await failure(disk.list('nowhere'))).toBe('absent');
    expect(await failure(disk.list('K\u00f6ln'))).toBe('in-the-way');
    expect(await failure(disk.list('link'))).toBe('in-the-way');
  });

  it('lists a name that is not UTF-8 as undefined, with a readable form', async () => {
    writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x66, 0xff])]), 'x');
    put('fine \ufffd', 'x');
    const names = (await disk.list('')).map(({ name, shown }) => [name, shown]);
    expect(names).toHaveLength(2);
    expect(names).toContainEqual([undefined, 'f\ufffd']);
    expect(names).toContainEqual(['fine \ufffd', 'fine \ufffd']);
  });

  it('reports times in nanoseconds', async () => {
    put('a', 'x');
    const { mtimeNs } = lstatSync(join(root, 'a'), { bigint: true });
    expect((await stat('a')).mtimeNs).toBe(mtimeNs);
    expect(await disk.stat('b')).toBeUndefined();
    expect(await disk.stat('a/b')).toBeUndefined();
  });

  it('reads a file completely, and only if it is unchanged', async () => {
    put('a', 'content');
    const before = await stat('a');
    expect(await readAll('a')).toBe('content');
    renameSync(join(root, 'a'), join(root, 'b'));
    put('a', 'another');
    expect(await failure(readAll('a', before))).toBe('changed');
    put('large', 'x'.repeat(3_000_000));
    const reading = failure(readAll('large'));
    writeFileSync(join(root, 'large'), 'y', { flag: 'a' });
    expect(await reading).toBe('changed');
  });

  it('does not read forever from a file that grows as fast as it is read', async () => {
    put('log', 'x'.repeat(2_000_000));
    let chunks = 0;
    const reading = async () => {
      for await (const chunk of disk.read('log', await stat('log'))) {
        if (++chunks > 10) return;
        writeFileSync(join(root, 'log'), chunk, { flag: 'a' });
      }
    };
    expect(await failure(reading())).toBe('changed');
    expect(chunks).toBeLessThan(4);
  });

  it('leaves nothing of a stream that fails, and throws its error', async () => {
    async function* broken() {
      yield bytes('the beginning');
      await Promise.resolve();
      throw Object.assign(new Error('the connection broke off'), { code: 'ENOENT' });
    }
    await expect(disk.stage(broken())).rejects.toThrow('the connection broke off');
    expect(readdirSync(join(root, '.cloud-sync/staging'))).toEqual([]);
    const staged = await disk.stage(disk.readStaged(await disk.stage(bytes('whole'))));
    await disk.place(staged, 'a', undefined);
    expect(text('a')).toBe('whole');
  });

  it('does not block on a pipe that has replaced a file', async () => {
    put('a', 'x');
    const before = await stat('a');
    rmSync(join(root, 'a'));
    execFileSync('mkfifo', [join(root, 'a')]);
    expect(await failure(readAll('a', before))).toBe('changed');
  });

  it('places files completely, and replaces a file only if it is unchanged', async () => {
    const one = await disk.stage(bytes('one'));
    expect(readdirSync(root)).toEqual(['.cloud-sync']);
    const placed = await disk.place(one, 'd/e/a.md', undefined);
    expect([text('d/e/a.md'), placed]).toEqual(['one', await stat('d/e/a.md')]);
    const two = await disk.stage(bytes('two'));
    expect(await failure(disk.place(two, 'd/e/a.md', undefined))).toBe('exists');
    utimesSync(join(root, 'd/e/a.md'), 5, 5);
    expect(await failure(disk.place(two, 'd/e/a.md', placed))).toBe('changed');
    await disk.place(two, 'd/e/a.md', await stat('d/e/a.md'));
    expect(text('d/e/a.md')).toBe('two');
    await disk.flush(['', 'd', 'd/e', 'gone']);
    expect(readdirSync(join(root, '.cloud-sync/staging'))).toEqual([]);
  });

  it('keeps the permissions of a replaced file, and does not change its other hard links', async () => {
    put('a', 'secret');
    chmodSync(join(root, 'a'), 0o600);
    linkSync(join(root, 'a'), join(outside, 'a'));
    await disk.place(await disk.stage(bytes('new')), 'a', await stat('a'));
    expect(lstatSync(join(root, 'a')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(outside, 'a'), 'utf8')).toBe('secret');
  });

  it('renames and removes a file only if it is unchanged', async () => {
    put('a', 'x');
    put('b', 'y');
    const a = await stat('a');
    expect(await failure(disk.rename('a', 'b', a))).toBe('exists');
    await disk.rename('a', 'c', a);
    expect(await failure(disk.remove('c', a))).toBe('changed'); // it has another ctime
    await disk.remove('c', await stat('c'));
    expect(await failure(disk.remove('c', a))).toBe('changed');
    expect([existsSync(join(root, 'a')), text('b')]).toEqual([false, 'y']);
  });

  it('removes only empty directories', async () => {
    put('d/e/a', 'x');
    expect(await disk.removeDirectory('d/e')).toBe(false);
    rmSync(join(root, 'd/e/a'));
    expect(await disk.removeDirectory('d/e')).toBe(true);
    expect(await disk.removeDirectory('nowhere')).toBe(false);
  });

  it('keeps the marker, and clears what a killed run has staged', async () => {
    expect(await disk.readMarker()).toBeUndefined();
    await disk.writeMarker('one', undefined);
    expect(await failure(disk.writeMarker('x', undefined))).toBe('changed');
    expect(await failure(disk.writeMarker('x', 'two'))).toBe('changed');
    await disk.writeMarker('two', 'one');
    await disk.stage(bytes('left behind'));
    await disk.clearStaging();
    expect(readdirSync(join(root, '.cloud-sync'))).toEqual(['folder.json', 'staging']);
    expect(readdirSync(join(root, '.cloud-sync/staging'))).toEqual([]);
    expect(await disk.readMarker()).toBe('two');
  });

  it('detects which names the disk supports, and leaves no probe files', async () => {
    const traits = await disk.traits();
    expect(traits).toMatchObject({ maxName: 255, windowsDevices: process.platform === 'win32' });
    if (process.platform === 'linux') {
      expect(traits).toMatchObject({
        foldsCase: false,
        foldsUnicode: false,
        nameUnit: 'bytes',
        windowsCharacters: false,
      });
      expect(await failure(disk.place(await disk.stage(bytes('x')), 'n'.repeat(256), undefined))).toBe(
        'name',
      );
    }
    await disk.clearStaging();
    expect(readdirSync(join(root, '.cloud-sync/staging'))).toEqual([]);
  });

  it('reports the free space', async () => {
    expect(await disk.freeBytes()).toBeGreaterThan(0);
  });
});

it.each([
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'the quota of the disk is used up'],
  ['EFBIG', 'larger than a file of this disk can be'],
])('%s is reported as a full disk, with its reason', (code, message) => {
  expect(diskError(Object.assign(new Error(code), { code }))).toMatchObject({ failure: 'full', message });
});

const noSmallDisk = whyNoDisk();
if (noSmallDisk !== undefined) process.stderr.write(`skipped: a disk of 1 MiB: ${noSmallDisk}\n`);
(noSmallDisk === undefined ? it : it.skip)(
  'a disk of 1 MiB stores what fits, and keeps nothing of the rest',
  async () => {
    const small = SmallDisk.mount(1);
    try {
      const full = new NodeDisk(small.path);
      async function* tooMuch() {
        for (let index = 0; index < 20; index++) yield await Promise.resolve(new Uint8Array(100_000));
      }
      expect(await failure(full.stage(new Uint8Array(2_000_000)))).toBe('full');
      expect(await failure(full.stage(tooMuch()))).toBe('full');
      expect(readdirSync(join(small.path, '.cloud-sync/staging'))).toEqual([]);
      await full.place(await full.stage(new Uint8Array(500_000)), 'fits', undefined);
      expect(await full.freeBytes()).toBeLessThan(600_000);
      await expect(checkRoom(full, 600_000)).rejects.toMatchObject({ failure: 'full' });
      await checkRoom(full, 100_000);
    } finally {
      small.unmount();
    }
  },
);

it('a replacement or a copy of a private file is private', async () => {
  const mode = (path: string) => statSync(join(root, path)).mode & 0o777;
  put('private', 'x');
  chmodSync(join(root, 'private'), 0o600);
  await disk.place(await disk.stage(bytes('copy')), 'copy', undefined, 'private');
  await disk.place(await disk.stage(bytes('new')), 'private', await stat('private'));
  await disk.place(await disk.stage(bytes('other')), 'other', undefined);
  put('usual', 'x');
  expect([mode('copy'), mode('private')]).toEqual([0o600, 0o600]);
  expect(mode('other')).toBe(mode('usual'));
});

describe('links that lead out of the folder', () => {
  beforeEach(() => {
    writeFileSync(join(outside, 'a'), 'theirs');
    symlinkSync(outside, join(root, 'd'));
    symlinkSync(join(outside, 'a'), join(root, 'f'));
  });

  it('are not followed as parents', async () => {
    const target = lstatSync(join(outside, 'a'), { bigint: true });
    const seen: Stat = { ...target, kind: 'file', size: Number(target.size) };
    const staged = await disk.stage(bytes('x'));
    expect(await failure(disk.place(staged, 'd/new', undefined))).toBe('in-the-way');
    expect(await failure(disk.place(staged, 'd/e/new', undefined))).toBe('in-the-way');
    expect(await failure(disk.place(staged, 'd/a', seen))).toBe('in-the-way');
    expect(await failure(disk.remove('d/a', seen))).toBe('in-the-way');
    expect(await failure(disk.rename('d/a', 'd/b', seen))).toBe('in-the-way');
    expect(await failure(readAll('d/a', seen))).toBe('in-the-way');
    expect(await disk.stat('d/a').catch(() => undefined)).toBeUndefined();
    expect(readdirSync(outside)).toEqual(['a']);
  });

  it('are not followed themselves', async () => {
    const link = await stat('f');
    expect(link.kind).toBe('link');
    expect(await failure(readAll('f', { ...link, kind: 'file' }))).toBe('in-the-way');
    const staged = await disk.stage(bytes('x'));
    expect(await failure(disk.place(staged, 'f', undefined))).toBe('exists');
    expect(await failure(disk.place(staged, 'f', { ...link, kind: 'file' }))).toBe('changed');
    expect(readFileSync(join(outside, 'a'), 'utf8')).toBe('theirs');
  });

  it('are refused in place of the client’s own directory', async () => {
    symlinkSync(outside, join(root, '.cloud-sync'));
    expect(await failure(disk.stage(bytes('x')))).toBe('in-the-way');
    expect(await failure(disk.writeMarker('x', undefined))).toBe('in-the-way');
    expect(await disk.readMarker()).toBeUndefined();
  });

  const onLinux = process.platform === 'linux' ? it : it.skip;
  onLinux('cannot win a race: a write follows the directory that a link has replaced', () => {
    mkdirSync(join(root, 'real/deep'), { recursive: true });
    inParent(root, 'real/deep/x', false, (address) => {
      renameSync(join(root, 'real'), join(root, 'moved'));
      symlinkSync(outside, join(root, 'real'));
      writeFileSync(join(address, 'x'), 'mine');
    });
    expect(text('moved/deep/x')).toBe('mine');
    expect(readdirSync(outside)).toEqual(['a']);
  });
});

describe('the state file', () => {
  it('can be appended to, truncated and replaced', async () => {
    const path = join(home, 'state/of/folder/journal');
    const file = new NodeStateFile(path);
    expect(await file.read()).toHaveLength(0);
    await file.append(bytes('one\ntwo\nthr'));
    await file.truncate(8);
    await file.append(bytes('end\n'));
    await file.sync();
    expect(Buffer.from(await new NodeStateFile(path).read()).toString()).toBe('one\ntwo\nend\n');
    expect(lstatSync(path).mode & 0o077).toBe(0);
    await file.replace(bytes('all\n'));
    await file.append(bytes('more\n'));
    await file.close();
    expect(readFileSync(path, 'utf8')).toBe('all\nmore\n');
    expect(readdirSync(join(path, '..'))).toEqual(['journal']);
  });
});

describe('the lock of a state', () => {
  it('refuses a second client while it is held, and admits one after the release', async () => {
    const path = join(home, 'state/lock');
    const lock = await Lock.take(path);
    await expect(Lock.take(path)).rejects.toThrow(AlreadyRunning);
    await lock.release();
    await (await Lock.take(path)).release();
    expect(readdirSync(join(home, 'state'))).toEqual([]);
  });

  it.each(['2147483646 1', `${process.pid} 1`, 'no number', ''])(
    'is taken over from a process that is gone: %j',
    async (holder) => {
      const path = join(home, 'state-lock');
      writeFileSync(path, holder);
      await (await Lock.take(path)).release();
      expect(existsSync(path)).toBe(false);
    },
  );

  it('is taken by at most one of many at once', async () => {
    const path = join(home, 'state-lock');
    writeFileSync(path, '2147483646 1');
    const all = await Promise.allSettled(Array.from({ length: 8 }, () => Lock.take(path)));
    expect(all.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1);
  });
});
