import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { BackupDirectory } from '../../../src/operations/backup/index.js';
import { ROOT } from '../../kit/deployment.js';
import { itDeep } from '../../kit/rounds.js';

const run = promisify(execFile);

let home: string;
let directory: BackupDirectory;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'sync-backups-'));
  directory = new BackupDirectory(home);
});
afterEach(() => rm(home, { recursive: true }));

const made = (...names: string[]): Promise<unknown> =>
  Promise.all(names.map((name) => mkdir(join(home, name))));
const names = async (): Promise<string[]> => (await readdir(home)).sort();

it('a backup made while the clock is behind displaces the oldest backups, and is itself kept', async () => {
  const newest = '1970-01-01T040000.000Z';
  const good = [1, 2, 3, 4].map((day) => `scheduled-2026-01-0${day}T040000.000Z`);
  await made(`scheduled-${newest}`, ...good);
  expect(await directory.prune(3, newest)).toBe(2);
  expect(await names()).toEqual([`scheduled-${newest}`, ...good.slice(2)]);
});

it('a run without the lock cannot publish a draft that another run is removing', async () => {
  const { stamp, draft } = await directory.begin(new Date('2026-01-01T04:00:00Z'));
  await mkdir(join(draft, 'manifest.json'), { recursive: true }); // the removal ends here, after the first step
  await expect(directory.begin(new Date('2026-01-01T04:00:01Z'))).rejects.toThrow('cannot be used');
  await expect(directory.publish(draft, stamp)).rejects.toThrow('ENOENT');
  expect(await names()).toEqual([`partial-removed-${stamp}`, `partial-trial-${stamp}`]);
});

it('a backup behind a symbolic link belongs to the operator: it is neither counted nor removed', async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), 'sync-elsewhere-'));
  await writeFile(join(elsewhere, 'manifest.json'), '{}');
  await symlink(elsewhere, join(home, 'scheduled-2026-01-01T040000.000Z'));
  await made('scheduled-2026-01-02T040000.000Z', 'scheduled-2026-01-03T040000.000Z');
  expect(await directory.prune(1, '2026-01-03T040000.000Z')).toBe(1);
  expect(await names()).toEqual(['scheduled-2026-01-01T040000.000Z', 'scheduled-2026-01-03T040000.000Z']);
  expect(await readdir(elsewhere)).toEqual(['manifest.json']);
  await rm(elsewhere, { recursive: true });
});

it('a backup renamed by the operator is kept, even when the name resembles a scheduled one', async () => {
  const kept = ['scheduled-pinned-2026-01-01T040000.000Z', 'unverified-old-2026-01-01T040000.000Z'];
  const newest = '2026-01-03T040000.000Z';
  await made(...kept, 'scheduled-2026-01-02T040000.000Z', 'unverified-2026-01-02T040000.000Z');
  await made(`partial-${newest}`);
  await directory.publish(join(home, `partial-${newest}`), newest);
  expect(await directory.prune(1, newest)).toBe(1);
  expect(await names()).toEqual([`scheduled-${newest}`, ...kept]);
});

itDeep('a backup of many files is removed in little memory', async () => {
  const ALLOWED_MIB = 6;
  const backup = join(home, 'partial-of-many');
  const program = pathToFileURL(join(ROOT, 'dist/src/operations/backup/index.js')).href;
  const script = `const { BackupDirectory } = await import('${program}');
    const before = process.memoryUsage().heapUsed;
    let most = 0;
    setInterval(() => (most = Math.max(most, process.memoryUsage().heapUsed)), 10).unref();
    await new BackupDirectory('${home}').discard('${backup}');
    console.log(Math.round((most - before) / 2 ** 20))`;
  const flags = ['--max-semi-space-size=1', '--input-type=module', '-e', script];
  const rises: number[] = [];
  // On a busy machine garbage is collected late; memory that is retained shows in each round.
  while (rises.length < 3 && !(rises.at(-1)! < ALLOWED_MIB)) {
    await mkdir(join(backup, 'blobs', 'workspace'), { recursive: true });
    for (let file = 0; file < 20_000; file++)
      writeFileSync(join(backup, 'blobs', 'workspace', `${file}`), '');
    const { stdout } = await run(process.execPath, flags, { env: process.env });
    rises.push(Number(stdout));
    expect(existsSync(backup)).toBe(false);
  }
  expect(Math.min(...rises)).toBeLessThan(ALLOWED_MIB);
});
