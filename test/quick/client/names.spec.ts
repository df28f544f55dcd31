import fc from 'fast-check';
import { conflictPath } from '../../../client/src/folder/conflict-name.js';
import { isDangerous } from '../../../client/src/folder/dangerous.js';
import {
  diskProblem,
  foldKey,
  pathProblem,
  type Traits,
  utf8Length,
  vaultName,
  vaultProblem,
} from '../../../client/src/folder/names.js';
import { nameOf, parentOf } from '../../../client/src/folder/trees.js';

const LINUX: Traits = {
  foldsCase: false,
  foldsUnicode: false,
  nameUnit: 'bytes',
  maxName: 255,
  maxPathBytes: 4_000,
  windowsCharacters: false,
  windowsDevices: false,
};
const MAC: Traits = { ...LINUX, foldsCase: true, foldsUnicode: true, nameUnit: 'utf16' };

describe('names in a vault', () => {
  it.each(['a\u0000', 'a\nb', 'a\u007f', 'a\u0085', '\ud800', 'a\udc00b', '', '.', '..'])(
    'refuses %j',
    (name) => {
      expect(vaultProblem(name)).toBeDefined();
    },
  );

  it.each(['a', '...', '.a', 'a b ', 'a\\b', 'K\u00f6ln', '\u{1f600}', 'con', 'a:b'])('allows %j', (name) => {
    expect(vaultProblem(name)).toBeUndefined();
  });

  it('are composed (NFC)', () => {
    expect(vaultName('Ko\u0308ln')).toBe('K\u00f6ln');
  });

  it.each([
    '/a',
    'a/',
    'a//b',
    '../a',
    'a/../b',
    './a',
    '',
    'Ko\u0308ln',
    'a\u0000',
    `${'a/'.repeat(1_600)}a`,
  ])('refuses a received path that is unsafe or not in normal form: %j', (path) => {
    expect(pathProblem(path)).toBeDefined();
  });
});

describe('dangerous paths', () => {
  it.each([
    '.git/config',
    'notes/.git/hooks/pre-commit',
    '.GIT/config',
    '.Git',
    '.g\u200cit/config',
    '.git\u200d',
    '\u{ff0e}git/config',
    '.git./config',
    '.git /config',
    '.git. . /config',
    '.git::$INDEX_ALLOCATION/config',
    'GIT~1/config',
    '.hg/hgrc',
    '.svn/entries',
    '.jj/repo',
    '_darcs/prefs',
    '_FOSSIL_',
    '.cloud-sync/folder.json',
    'deep/.Cloud-Sync/x',
    '.\u017fvn/entries', // a long s folds to s
    'Desktop.ini',
    'AUTORUN.INF',
  ])('are recognised in every spelling: %j', (path) => {
    expect(isDangerous(path)).toBe(true);
  });

  it.each([
    '.gitignore',
    '.github/workflows/a.yml',
    'git/config',
    'my.git/config',
    '.gitx',
    'CVs/letter.md',
    'a: b',
    'x/.cloudsyncignore',
    'digit~1',
  ])('do not include similar names: %j', (path) => {
    expect(isDangerous(path)).toBe(false);
  });
});

describe('names that a disk cannot tell apart', () => {
  it.each([
    ['Note', 'nOTE'],
    ['K\u00f6ln', 'KO\u0308LN'],
    ['stra\u00dfe', 'STRASSE'],
    ['\u03c3', '\u03c2'],
    ['\ufb01', 'FI'],
    ['a\u200db', 'AB'],
  ])('have the same key: %j and %j', (one, other) => {
    expect(foldKey(MAC, one)).toBe(foldKey(MAC, other));
    expect(foldKey(LINUX, one)).not.toBe(foldKey(LINUX, other));
  });

  it('have another key than other names', () => {
    const names = ['a', 'b', '\u00e4', 'ae', 'a b', 'a/b', '1', 'A1'];
    expect(new Set(names.map((name) => foldKey(MAC, name))).size).toBe(names.length);
  });
});

describe('the length of a name', () => {
  it('is counted in the unit of the disk', () => {
    const wide = '\u{1f600}'.repeat(64); // 256 bytes, 128 units
    expect(diskProblem(LINUX, wide)).toMatch(/longer/);
    expect(diskProblem(MAC, wide)).toBeUndefined();
    expect(diskProblem(MAC, 'a'.repeat(256))).toMatch(/longer/);
  });
});

describe('the name of a conflict copy', () => {
  const named = (path: string, count = 1, traits = LINUX): string =>
    conflictPath(path, 'conflict from laptop', count, traits);

  it.each([
    ['plan.md', 1, 'plan (conflict from laptop).md'],
    ['d/plan.md', 2, 'd/plan (conflict from laptop 2).md'],
    ['plan (conflict from phone).md', 1, 'plan (conflict from laptop).md'],
    ['plan (conflict from phone 12).md', 1, 'plan (conflict from laptop).md'],
    ['Makefile', 1, 'Makefile (conflict from laptop)'],
    ['.profile', 1, '.profile (conflict from laptop)'],
    ['a.b/c', 1, 'a.b/c (conflict from laptop)'],
    ['We met. And then it rained a lot', 1, 'We met. And then it rained a lot (conflict from laptop)'],
  ])('%s, %i: %s', (path, count, expected) => {
    expect(named(path, count)).toBe(expected);
  });

  it('is valid, distinct and at most 255 bytes long, whatever the name and the device', () => {
    const segment = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 255, size: 'max' })
      .map((text) => text.normalize('NFC').replace(/[\p{Cc}\p{Cs}/]/gu, 'x'))
      .filter((text) => vaultProblem(text) === undefined && utf8Length(text) <= 255);
    const count = fc.integer({ min: 1, max: 999 });
    fc.assert(
      fc.property(
        segment,
        segment,
        fc.string({ unit: 'grapheme' }),
        count,
        (folder, name, device, number) => {
          const path = `${folder}/${name}`;
          const copy = conflictPath(path, `conflict from ${device}`, number, LINUX);
          expect(pathProblem(copy)).toBeUndefined();
          expect(utf8Length(nameOf(copy))).toBeLessThanOrEqual(255);
          expect(parentOf(copy)).toBe(folder);
          expect(copy).not.toBe(path);
          expect(conflictPath(path, `conflict from ${device}`, number + 1, LINUX)).not.toBe(copy);
        },
      ),
    );
  });

  it('keeps the extension, and splits no character', () => {
    const copy = named(`${'\u{1f600}'.repeat(62)}.md`);
    expect(copy).toMatch(/^\u{1f600}+ \(conflict from laptop\)\.md$/u);
    expect(utf8Length(copy)).toBeGreaterThan(250);
  });
});
