import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decide } from '../../../client/src/folder/decide.js';
import type { Stat } from '../../../client/src/folder/ports.js';
import { isDangerous } from '../../../client/src/folder/dangerous.js';
import type { Traits } from '../../../client/src/folder/names.js';
import { massDeletions, plan, type PlanOptions } from '../../../client/src/folder/plan.js';
import type { LocalFile, LocalTree, RemoteEntry, SyncedEntry } from '../../../client/src/folder/trees.js';

const LINUX: Traits = {
  foldsCase: false,
  foldsUnicode: false,
  nameUnit: 'bytes',
  maxName: 255,
  maxPathBytes: 4_000,
  windowsCharacters: false,
  windowsDevices: false,
};
const FOLDING: Traits = { ...LINUX, foldsCase: true, foldsUnicode: true };
const WINDOWS: Traits = { ...FOLDING, nameUnit: 'utf16', windowsCharacters: true, windowsDevices: true };

const options = (traits = LINUX): PlanOptions => ({ traits, maxFileBytes: 1_000, leftOut: () => undefined });

const stat = (at: number, size = 5): Stat => ({
  kind: 'file',
  size,
  mtimeNs: BigInt(at),
  ctimeNs: BigInt(at),
  ino: 7n,
});
const localFile = (diskPath: string, at = 1, size = 5, hash?: string): LocalFile => ({
  diskPath,
  stat: stat(at, size),
  ...(hash === undefined ? {} : { hash }),
});
const remoteEntry = (contentHash = 'c1', version = 1, encryptedSize = 66): RemoteEntry => ({
  contentHash,
  version,
  encryptedSize,
});
const syncedEntry = (over: Partial<SyncedEntry> = {}): SyncedEntry => ({
  plainHash: 'p1',
  contentHash: 'c1',
  version: 1,
  size: 5,
  stat: stat(1),
  ...over,
});

const only = <T>(value: T | undefined): Record<string, T> => (value === undefined ? {} : { f: value });

interface Trees {
  local?: Record<string, LocalFile>;
  remote?: Record<string, RemoteEntry>;
  synced?: Record<string, SyncedEntry>;
  directories?: string[];
  heldBack?: Record<string, string>;
  unreadable?: Record<string, string>;
}

function planned(trees: Trees, given = options()) {
  const files = new Map(Object.entries(trees.local ?? {}));
  const directories = new Map((trees.directories ?? []).map((path) => [path, path]));
  for (const path of files.keys())
    path.split('/').forEach((_, index, all) => {
      const parent = all.slice(0, index).join('/');
      if (index > 0) directories.set(parent, parent);
    });
  const local: LocalTree = {
    files,
    directories,
    heldBack: new Map(Object.entries(trees.heldBack ?? {})),
    unreadable: new Map(Object.entries(trees.unreadable ?? {})),
  };
  const synced = new Map(Object.entries(trees.synced ?? {}));
  const made = plan(local, new Map(Object.entries(trees.remote ?? {})), synced, given);
  return {
    ...made,
    steps: made.operations.map(({ kind, path }) => `${kind} ${path}`),
    held: Object.fromEntries(made.heldBack.map(({ path, reason }) => [path, reason])),
    mass: massDeletions(made, synced),
  };
}

describe('the plan of a path', () => {
  const LOCALS: Record<string, LocalFile | undefined> = {
    none: undefined,
    'same stat': localFile('f', 1),
    'same hash': localFile('f', 2, 5, 'p1'),
    'other hash': localFile('f', 2, 5, 'p2'),
    'unknown hash': localFile('f', 2, 5),
    'other size': localFile('f', 1, 6),
  };
  const REMOTES: Record<string, RemoteEntry | undefined> = {
    none: undefined,
    same: remoteEntry(),
    'newer version': remoteEntry('c1', 3),
    other: remoteEntry('c2', 2),
  };
  const SYNCEDS: Record<string, SyncedEntry | undefined> = {
    never: undefined,
    synced: syncedEntry(),
    'without stat': syncedEntry({ stat: undefined }),
  };
  type Row = readonly [none: string, same: string, newer: string, other: string];
  const CHANGED_HERE: Row = ['upload new', 'upload over c1', 'upload over c1', 'merge'];
  const UNCHANGED_HERE: Row = ['delete-local', '-', 'adopt', 'download'];
  const GONE_HERE: Row = ['forget', 'delete-remote', 'download', 'download'];
  const NEW_HERE: Row = ['upload new', 'merge', 'merge', 'merge'];
  const EXPECTED: Record<string, Record<string, Row>> = {
    never: {
      none: ['-', 'download', 'download', 'download'],
      'same stat': NEW_HERE,
      'same hash': NEW_HERE,
      'other hash': NEW_HERE,
      'unknown hash': NEW_HERE,
      'other size': NEW_HERE,
    },
    synced: {
      none: GONE_HERE,
      'same stat': UNCHANGED_HERE,
      'same hash': UNCHANGED_HERE,
      'other hash': CHANGED_HERE,
      'unknown hash': CHANGED_HERE,
      'other size': CHANGED_HERE,
    },
    'without stat': {
      none: GONE_HERE,
      'same stat': CHANGED_HERE, // the time proves nothing, and no hash is known
      'same hash': UNCHANGED_HERE,
      'other hash': CHANGED_HERE,
      'unknown hash': CHANGED_HERE,
      'other size': CHANGED_HERE,
    },
  };
  const cases = Object.entries(SYNCEDS).flatMap(([before, synced]) =>
    Object.entries(LOCALS).flatMap(([here, local]) =>
      Object.entries(REMOTES).map(([there, remote], column) => ({
        before,
        here,
        there,
        trees: { local: only(local), remote: only(remote), synced: only(synced) },
        expected: EXPECTED[before]?.[here]?.[column],
      })),
    ),
  );

  it.each(cases)('$before, here $here, there $there: $expected', ({ trees, expected }) => {
    const { operations, heldBack, waiting } = planned(trees);
    const [operation] = operations;
    const words =
      operation?.kind === 'upload'
        ? `upload ${operation.base === undefined ? 'new' : `over ${operation.base}`}`
        : (operation?.kind ?? '-');
    expect(words).toBe(expected);
    expect([operations.length <= 1, heldBack, waiting]).toEqual([true, [], []]);
  });

  it('replaces only the local file that it has compared', () => {
    const local = localFile('f', 1);
    const { operations } = planned({
      local: { f: local },
      remote: { f: remoteEntry('c2', 2) },
      synced: { f: syncedEntry() },
    });
    expect(operations).toEqual([
      { kind: 'download', path: 'f', remote: remoteEntry('c2', 2), replaces: local },
    ]);
  });

  it('forgets, uploads, deletes, downloads and merges, in this order', () => {
    const { steps } = planned({
      local: { gone: localFile('gone'), new: localFile('new'), both: localFile('both', 3, 9) },
      remote: { there: remoteEntry(), deleted: remoteEntry(), both: remoteEntry('c2', 2) },
      synced: { gone: syncedEntry(), deleted: syncedEntry(), both: syncedEntry(), past: syncedEntry() },
    });
    expect(steps).toEqual([
      'forget past',
      'upload new',
      'delete-remote deleted',
      'delete-local gone',
      'download there',
      'merge both',
    ]);
  });
});

describe('an unreadable path', () => {
  const both = { remote: { 'd/f': remoteEntry() }, synced: { 'd/f': syncedEntry() } };

  it.each([
    ['a directory that cannot be read', { unreadable: { d: 'cannot be read' } }],
    ['the folder itself when it cannot be read', { unreadable: { '': 'cannot be read' } }],
    ['a file that cannot be read', { heldBack: { 'd/f': 'cannot be read' } }],
    ['a link in place of a directory', { heldBack: { d: 'a link' } }],
  ])('is no deletion: %s', (_, blind) => {
    const { steps, held } = planned({ ...both, ...blind });
    expect(steps).toEqual([]);
    expect(held).toMatchObject({ 'd/f': Object.values(Object.values(blind)[0])[0] });
  });

  it('is reported when no other tree has it', () => {
    expect(planned({ heldBack: { link: 'a link' } }).held).toEqual({ link: 'a link' });
  });
});

describe('an excluded file', () => {
  const leftOut = (path: string) =>
    isDangerous(path)
      ? { reason: 'dangerous', told: true }
      : path.endsWith('.tmp')
        ? { reason: 'ignored', told: false }
        : undefined;
  const given = { ...options(), leftOut };

  it('is neither uploaded, downloaded nor deleted, and its synced state is forgotten', () => {
    const { steps, held } = planned(
      {
        local: { 'a.tmp': localFile('a.tmp') },
        remote: { 'b.tmp': remoteEntry(), 'c.tmp': remoteEntry(), '.GIT/config': remoteEntry() },
        synced: { 'c.tmp': syncedEntry() },
      },
      given,
    );
    expect(steps).toEqual(['forget c.tmp']);
    expect(held).toEqual({ '.GIT/config': 'dangerous' });
  });
});

describe('limits', () => {
  it('hold back files that are too large, in both directions', () => {
    const { steps, held } = planned({
      local: {
        big: localFile('big', 1, 1_001),
        fits: localFile('fits', 1, 1_000),
        edited: localFile('edited', 2, 2_000),
      },
      remote: {
        far: remoteEntry('c1', 1, 1_062),
        near: remoteEntry('c1', 1, 1_061),
        edited: remoteEntry(),
      },
      synced: { edited: syncedEntry() },
    });
    expect(steps).toEqual(['upload fits', 'download near']);
    expect(Object.keys(held).sort()).toEqual(['big', 'edited', 'far']);
    expect(held.big).toMatch(/larger than the limit/);
  });

  it('do not hold back the deletion of a file that is too large', () => {
    const big = syncedEntry({ size: 5_000, stat: stat(1, 5_000) });
    expect(planned({ local: { f: localFile('f', 1, 5_000) }, synced: { f: big } }).steps).toEqual([
      'delete-local f',
    ]);
  });

  const name = 'ü'.repeat(128);
  it.each([
    ['a name of 256 bytes', LINUX, name, /longer than this disk takes/],
    [
      'a path too long for the disk',
      { ...LINUX, maxPathBytes: 20 },
      'a/b/c/d/e/f/g/h/i/j/k',
      /longer than this disk/,
    ],
    ['a colon', WINDOWS, 'a:b', /character that this disk does not take/],
    ['a dot at the end', WINDOWS, 'd./x', /character that this disk does not take/],
    ['a device name', WINDOWS, 'x/Aux.md', /takes the name for a device/],
  ])('hold back %s', (_, traits, path, reason) => {
    const { steps, held } = planned(
      { remote: { [path]: remoteEntry(), fine: remoteEntry() } },
      options(traits),
    );
    expect(steps).toEqual(['download fine']);
    expect(held[path]).toMatch(reason);
  });

  it.each([
    ['128 letters of two bytes', WINDOWS, name],
    ['a colon', LINUX, 'a:b'],
    ['a device name', LINUX, 'aux'],
  ])('allow what the disk supports: %s', (_, traits, path) => {
    expect(planned({ remote: { [path]: remoteEntry() } }, options(traits)).steps).toEqual([
      `download ${path}`,
    ]);
  });
});

describe('names that a disk cannot tell apart', () => {
  const CASE = ['Note.md', 'note.md'] as const;
  const UNICODE = ['K\u00f6ln.md', 'KO\u0308LN.md'] as const;
  const SHARP = ['stra\u00dfe', 'STRASSE'] as const;

  it.each([CASE, UNICODE, SHARP])('downloads one of %s and %s, and holds back the other', (one, other) => {
    const remote = { [one]: remoteEntry(), [other]: remoteEntry('c2') };
    const { steps, held } = planned({ remote }, options(FOLDING));
    const [first, second] = [one, other].sort();
    expect(steps).toEqual([`download ${first}`]);
    expect(held[second!]).toMatch(/takes its name for that of/);
    expect(planned({ remote }).steps).toHaveLength(2);
  });

  it('keeps the one that the folder already has', () => {
    const { steps, held } = planned(
      {
        local: { 'note.md': localFile('note.md') },
        remote: { 'note.md': remoteEntry(), 'Note.md': remoteEntry() },
        synced: { 'note.md': syncedEntry() },
      },
      options(FOLDING),
    );
    expect(steps).toEqual([]);
    expect(Object.keys(held)).toEqual(['Note.md']);
  });

  it('sends a case-only rename as an upload and a deletion', () => {
    const trees = {
      local: { 'Note.md': localFile('Note.md') },
      remote: { 'note.md': remoteEntry() },
      synced: { 'note.md': syncedEntry() },
    };
    for (const traits of [LINUX, FOLDING])
      expect(planned(trees, options(traits)).steps).toEqual(['upload Note.md', 'delete-remote note.md']);
  });

  it('follows a case-only rename: deletes the old name, and downloads the new one afterwards', () => {
    const trees = {
      local: { 'd/note.md': localFile('d/note.md') },
      remote: { 'D/note.md': remoteEntry('c2') },
      synced: { 'd/note.md': syncedEntry() },
    };
    const folding = planned(trees, options(FOLDING));
    expect(folding.steps).toEqual(['delete-local d/note.md']);
    expect(folding.waiting).toEqual(['D/note.md']);
    expect(planned(trees).steps).toEqual(['delete-local d/note.md', 'download D/note.md']);
  });

  it('does not treat a file as deleted that the disk cannot hold beside another', () => {
    const { steps, held } = planned(
      {
        local: { a: localFile('a') },
        remote: { a: remoteEntry(), A: remoteEntry() },
        synced: { a: syncedEntry(), A: syncedEntry() },
      },
      options(FOLDING),
    );
    expect(steps).toEqual([]);
    expect(held.A).toMatch(/rename one of the two/);
  });

  it('does not treat a file as deleted when another spelling is in its way', () => {
    const all = ['D/a', 'd'];
    const remote = Object.fromEntries(all.map((path) => [path, remoteEntry()]));
    const synced = Object.fromEntries(all.map((path) => [path, syncedEntry()]));
    for (const path of all)
      expect(planned({ local: { [path]: localFile(path) }, remote, synced }, options(FOLDING)).steps).toEqual(
        [],
      );
  });

  it('does not treat a file as deleted when an entry that is not synced is in its way', () => {
    const trees = { remote: { 'D/a': remoteEntry() }, synced: { 'D/a': syncedEntry() } };
    const link = 'a symbolic link is not synced';
    for (const place of ['d', 'd/a']) {
      const { steps, held } = planned({ ...trees, heldBack: { [place]: link } }, options(FOLDING));
      expect(steps).toEqual([]);
      expect(held['D/a']).toContain(`takes its name for that of ${place}`);
    }
  });

  it('does not treat a file as deleted when the disk does not support its name', () => {
    const name = 'n'.repeat(300);
    const trees = { remote: { [name]: remoteEntry() }, synced: { [name]: syncedEntry() } };
    const { steps, held } = planned(trees);
    expect(steps).toEqual([]);
    expect(held[name]).toMatch(/longer than this disk takes/);
  });

  it('holds back a file whose directory exists in another spelling', () => {
    const { steps, held } = planned(
      {
        local: { 'Docs/a': localFile('Docs/a') },
        remote: { 'Docs/a': remoteEntry(), 'docs/b': remoteEntry() },
        synced: { 'Docs/a': syncedEntry() },
      },
      options(FOLDING),
    );
    expect(steps).toEqual([]);
    expect(held['docs/b']).toMatch(/directory Docs is in the way/);
  });
});

describe('files and directories of one name', () => {
  it('moves a file aside where the server has a directory', () => {
    const remote = { a: remoteEntry(), 'a/b': remoteEntry() };
    const known = planned({ local: { a: localFile('a') }, remote, synced: { a: syncedEntry() } });
    expect([known.steps, known.waiting]).toEqual([['move-aside a'], ['a/b']]);
    const fresh = planned({ local: { a: localFile('a') }, remote: { 'a/b': remoteEntry() } });
    expect([fresh.steps, fresh.waiting]).toEqual([['move-aside a'], ['a/b']]);
  });

  it('deletes a file before it downloads into a directory of that name', () => {
    const { steps, waiting } = planned({
      local: { a: localFile('a') },
      remote: { 'a/b/c': remoteEntry() },
      synced: { a: syncedEntry() },
    });
    expect([steps, waiting]).toEqual([['delete-local a'], ['a/b/c']]);
  });

  it('deletes a directory before it downloads a file of that name', () => {
    const { steps, waiting } = planned({
      local: { 'a/b': localFile('a/b'), 'a/c': localFile('a/c') },
      remote: { a: remoteEntry() },
      synced: { 'a/b': syncedEntry(), 'a/c': syncedEntry() },
    });
    expect([steps, waiting]).toEqual([['delete-local a/b', 'delete-local a/c'], ['a']]);
  });

  it('holds back a file when a directory of its name has files', () => {
    const { steps, held } = planned({
      local: { 'a/b': localFile('a/b') },
      remote: { a: remoteEntry(), 'a/b': remoteEntry() },
      synced: { 'a/b': syncedEntry() },
    });
    expect(steps).toEqual([]);
    expect(held.a).toMatch(/directory a is in the way/);
  });

  it('removes a directory without files, unless something in it is held back', () => {
    const remote = { a: remoteEntry() };
    expect(planned({ directories: ['a'], remote }).steps).toEqual(['remove-directory a']);
    expect(planned({ directories: ['a'], heldBack: { 'a/link': 'a link' }, remote }).steps).toEqual([]);
  });

  it('prefers the directory when both are new', () => {
    const { steps, held } = planned({ remote: { a: remoteEntry(), 'a/b': remoteEntry() } });
    expect(steps).toEqual(['download a/b']);
    expect(held.a).toMatch(/directory a is in the way/);
  });

  it('sends a file that became a directory, and the reverse', () => {
    const toDirectory = planned({
      local: { 'a/b': localFile('a/b') },
      remote: { a: remoteEntry() },
      synced: { a: syncedEntry() },
    });
    expect(toDirectory.steps).toEqual(['upload a/b', 'delete-remote a']);
    const toFile = planned({
      local: { a: localFile('a') },
      remote: { 'a/b': remoteEntry() },
      synced: { 'a/b': syncedEntry() },
    });
    expect(toFile.steps).toEqual(['upload a', 'delete-remote a/b']);
  });

  it('holds back a file when a link is in its way', () => {
    const { steps, held } = planned({
      heldBack: { d: 'a link' },
      remote: { 'd/f': remoteEntry(), e: remoteEntry() },
    });
    expect(steps).toEqual(['download e']);
    expect(held['d/f']).toBe('a link');
  });
});

describe('mass deletions', () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => `f${index}`);
  const all = <T>(paths: string[], value: T): Record<string, T> =>
    Object.fromEntries(paths.map((path) => [path, value]));

  it.each([
    [21, 21, 1],
    [20, 20, 0],
    [21, 84, 0],
    [21, 83, 1],
  ])('of %i of %i files need consent: %i', (count, of, asked) => {
    const rest = many(of).slice(count);
    const here = planned({
      remote: all(many(of), remoteEntry()),
      local: all(rest, localFile('x')),
      synced: all(many(of), syncedEntry()),
    });
    expect(here.mass.map(({ direction, paths }) => [direction, paths.length])).toEqual(
      asked ? [['on the server', count]] : [],
    );
    const there = planned({
      remote: all(rest, remoteEntry()),
      local: all(many(of), localFile('x')),
      synced: all(many(of), syncedEntry()),
    });
    expect(there.mass.map(({ direction, paths }) => [direction, paths.length])).toEqual(
      asked ? [['here', count]] : [],
    );
  });
});

describe('the picture in the README', () => {
  /** The states of the picture, by folder and server compared with the last sync. */
  const STATES: [name: string, local: string, remote: string, isKnown: boolean][] = [
    ['newHere', 'other', 'none', false],
    ['newThere', 'none', 'other', false],
    ['different', 'other', 'other', false],
    ['restoredThere', 'same', 'restored', true],
    ['editedThere', 'same', 'other', true],
    ['deletedThere', 'same', 'none', true],
    ['editedHere', 'other', 'same', true],
    ['editedHere', 'other', 'restored', true],
    ['different', 'other', 'other', true],
    ['keptHere', 'other', 'none', true],
    ['deletedHere', 'none', 'same', true],
    ['keptThere', 'none', 'restored', true],
    ['keptThere', 'none', 'other', true],
    ['gone', 'none', 'none', true],
  ];
  const readme = readFileSync(join(import.meta.dirname, '../../../client/README.md'), 'utf8');
  const picture = /```mermaid\n(stateDiagram.*?)```/s.exec(readme)?.[1] ?? '';
  const acts = [...picture.matchAll(/^ *(\w+) --> (?:\w+|\[\*\]) : ([\w-]+)$/gm)];
  const drawn = new Map(acts.map(([, state = '', act]) => [state, act]));

  it.each(STATES)('shows the decision for %s (%s here, %s there)', (name, local, remote, isKnown) => {
    const here = { none: undefined, same: localFile('f'), other: localFile('f', 2, 5, 'p2') }[local];
    const there = {
      ...{ none: undefined, same: remoteEntry() },
      ...{ restored: remoteEntry('c1', 3), other: remoteEntry('c2', 2) },
    }[remote];
    const decided = decide('f', here, there, isKnown ? syncedEntry() : undefined);
    expect([name, drawn.get(name)]).toEqual([name, decided?.kind]);
  });

  it('has only these states, and one without an action', () => {
    const states = [...picture.matchAll(/^ *state ".*" as (\w+)$/gm)].map(([, name]) => name);
    expect(states.sort()).toEqual([...new Set(STATES.map(([name]) => name)), 'inSync'].sort());
    expect([...drawn.keys()].sort()).toEqual(states.filter((name) => name !== 'inSync'));
    expect(decide('f', localFile('f'), remoteEntry(), syncedEntry())).toBeUndefined();
  });
});
