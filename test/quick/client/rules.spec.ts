import ignore from 'ignore';
import { DEFAULTS, Rules } from '../../../client/src/folder/rules.js';

describe('the ignore rules', () => {
  const rules = new Rules('# drafts\n*.draft\nbuild/\n/top.md\n!keep.draft\n!Thumbs.db\ncafe\u0301/\n');

  it.each([
    'a.draft',
    'd/a.draft',
    'build/x',
    'd/build/x/y',
    'top.md',
    '.note.md.swp',
    'd/.DS_Store',
    '~$letter.docx',
    '.#x',
  ])('ignore %s', (path) =>
    expect(rules.leftOut(path)).toEqual({ reason: 'ignored by a rule', told: false }),
  );

  it.each([
    'keep.draft',
    'd/top.md',
    'buildings',
    'Thumbs.db',
    'A.DRAFT',
    '.cloudsyncignore',
    'a.swap',
    '#1 song.md',
  ])('do not ignore %s', (path) => expect(rules.leftOut(path)).toBeUndefined());

  it.each(['[/-/', 'a[/z-?*|^', '![/-/'])('match nothing by a line that is not a pattern: %s', (line) => {
    const odd = new Rules(`*.draft\r\n${line}\n*.bak\n`);
    const judged = ['a.md', 'a.draft', 'a.bak'].map((path) => {
      try {
        return odd.leftOut(path) !== undefined;
      } catch {
        return 'no answer';
      }
    });
    expect(judged).toEqual([false, true, true]);
  });

  it.each(['.cloudsyncignore/x', '.CloudSyncIgnore', '.CLOUDSYNCIGNORE/a/b'])(
    'ignore and report a path that a disk may take for the ignore file: %s',
    (path) => expect(rules.leftOut(path)).toMatchObject({ told: true }),
  );

  it('agree with the library about the default patterns', () => {
    const none = new Rules('');
    const asked = ignore().add(DEFAULTS);
    const names = [
      '.DS_Store',
      '._x',
      'Thumbs.db',
      'a.swp',
      'a.swo',
      'a.swx',
      '.#a',
      '#a#',
      '~$a',
      '.~lock.a#',
    ];
    const services = [
      '~syncthing~a',
      '.syncthing.a.tmp',
      '.stfolder',
      '.stversions',
      '.dropbox',
      '.dropbox.cache',
      '.a.icloud',
    ];
    const more = [
      '.goutputstream-a',
      '.fuse_hidden1',
      '.nfs1',
      'a.part',
      'a.crdownload',
      'note.md',
      'a.partly',
    ];
    const paths = [...names, ...services, ...more].flatMap((name) => [
      name,
      `d/${name}`,
      `${name}/x`,
      `d/${name}/e/x`,
    ]);
    for (const path of paths)
      expect([path, none.leftOut(path) !== undefined]).toEqual([path, asked.ignores(path)]);
    for (const pattern of DEFAULTS)
      expect(paths.some((path) => ignore().add(pattern).ignores(path))).toBe(true);
  });

  it('cannot include a dangerous path, which is reported', () => {
    const asked = new Rules('!.git\n!.git/**');
    expect(asked.leftOut('d/.GIT/config')?.told).toBe(true);
    expect(asked.leftOut('.cloud-sync/folder.json')?.told).toBe(false);
    expect(asked.skips('.git')).toBe(true);
  });

  it('skip directories in which nothing is synced', () => {
    expect([rules.skips('build'), rules.skips('d/build'), rules.skips('d')]).toEqual([true, true, false]);
  });

  it('cannot ignore their own file', () => {
    expect(new Rules('*\n').leftOut('.cloudsyncignore')).toBeUndefined();
    expect(new Rules('*\n').leftOut('x')).toBeDefined();
  });

  it('match composed names by a pattern in decomposed form', () => {
    expect(rules.leftOut('caf\u00e9/x')).toBeDefined();
  });

  it('can limit the sync to selected paths', () => {
    const some = new Rules('*.tmp', { only: ['notes/2026/', 'todo.md'] });
    const synced = ['notes/2026/a', 'notes/2026/d/a', 'todo.md', '.cloudsyncignore'];
    for (const path of synced) expect(some.leftOut(path)).toBeUndefined();
    for (const path of ['notes/2025/a', 'notes/2026x', 'todo.md2', 'a'])
      expect(some.leftOut(path)?.told).toBe(false);
    expect(some.leftOut('notes/2026/a.tmp')).toBeDefined();
    expect([some.skips('notes'), some.skips('notes/2026/d'), some.skips('notes/2025')]).toEqual([
      false,
      false,
      true,
    ]);
  });
});
