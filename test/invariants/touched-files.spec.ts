import { mkdir, mkdtemp, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mirror } from '../../examples/sync-folder/mirror.js';
import { DeviceState, isUntouched } from '../../examples/sync-folder/state.js';
import { type Device, SyncRun } from '../../examples/sync-folder/sync-run.js';
import { type LocalFile, walk } from '../../examples/sync-folder/walk.js';

/** What tells a changed file from an untouched one, without a look at its content. */
describe('the example client', () => {
  let home: string;
  beforeEach(async () => (home = await mkdtemp(join(tmpdir(), 'touched-files-'))));
  afterEach(() => rm(home, { recursive: true, force: true }));

  it.each([
    ['had just been changed when it was looked at, however long its upload took', 0, true],
    ['had been left alone for a second when it was looked at', 1_000, false],
  ])('reads a file again, or does not, that %s', async (_, restedMs, isReadAgain) => {
    const lookedAtMs = Date.now() - 60_000; // then it was sent, for a minute
    const file: LocalFile = {
      path: 'a.md',
      onDisk: join(home, 'a.md'),
      size: 3,
      mtimeMs: lookedAtMs - restedMs,
      ctimeMs: lookedAtMs - restedMs,
      ino: 1,
      lookedAtMs,
    };
    const state = await DeviceState.open(join(home, 'state.json'), 'workspace', 'laptop');
    new SyncRun({ state } as Device).remember(file, 'plain', { contentHash: 'envelope', version: 1 });
    expect(isUntouched(file, state.files.get('a.md')!)).toBe(!isReadAgain);
  });

  it('mirrors a file that replaced another one, although size and mtime are the same', async () => {
    const [source, copy] = [join(home, 'source'), join(home, 'copy')];
    const place = (name: string): string => join(source, name);
    const mirrored = (): Promise<unknown> => mirror(source, copy, join(source, '.none'));
    await mkdir(source);
    for (const name of ['a.md', 'b.md']) {
      await writeFile(place(name), `the text of ${name}`);
      await utimes(place(name), 1_000_000_000, 1_000_000_000);
    }
    await mirrored();
    await rm(place('a.md'));
    await rename(place('b.md'), place('a.md'));
    await mirrored();
    expect(await readFile(join(copy, 'a.md'), 'utf8')).toBe('the text of b.md');
    expect((await walk(copy)).files).toHaveLength(1);
  });
});
