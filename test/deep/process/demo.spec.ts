import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { MACHINE_NODE } from '../../../bench/npm.js';
import { mirror } from '../../../examples/demo/mirror.js';
import { walk } from '../../../examples/demo/walk.js';

const DEMO = join(import.meta.dirname, '..', '..', '..', 'dist', 'examples', 'demo', 'main.js');

const NOTES: Record<string, string> = {
  'plain.md': '# A note\n',
  'empty.md': '',
  'Ünïcode – naïve café.md': 'naïve\n',
  'with spaces/and a deeper/path.md': 'deep\n',
  'large.bin': 'x'.repeat(3_000_000),
  ...Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`many/${i}.md`, `note ${i}\n`])),
};

describe('npm run demo', () => {
  let home: string;
  let folder: string;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'sync-demo-'));
    folder = join(home, 'notes');
    for (const [path, text] of Object.entries(NOTES)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
  });
  afterAll(() => rm(home, { recursive: true, force: true }));

  const demo = (...args: string[]): Promise<{ code: number; output: string }> =>
    demoOn(process.execPath, 'data', ...args);

  const demoOn = (node: string, data: string, ...args: string[]): Promise<{ code: number; output: string }> =>
    new Promise((resolve) => {
      const env = { PATH: process.env['PATH'], DATA_DIR: join(home, data) };
      execFile(node, [DEMO, ...args], { cwd: home, env }, (error, stdout, stderr) => {
        resolve({ code: Number(error?.code ?? 0), output: stdout + stderr });
      });
    });

  it('syncs a folder between two devices, and changes nothing the second time', async () => {
    const count = Object.keys(NOTES).length;
    const first = await demo(folder);
    expect(first.output).toContain(`${count} files, ${count} uploaded`);
    expect(first.output).toContain(`${count} files, ${count} downloaded`);
    expect(first.output).toMatch(/identical, byte for byte/);
    expect(first.code).toBe(0);

    const second = await demo(folder);
    expect(second.output).toContain(`${count} files, 0 uploaded, ${count} unchanged`);
    expect(second.output).toContain(`${count} files, 0 downloaded, ${count} unchanged`);
    expect(second.code).toBe(0);
  });

  it('resumes on the Node.js of the machine, with one change to sync', async () => {
    const own = join(home, 'own');
    await mkdir(own);
    await writeFile(join(own, 'kept.md'), '# A note\n');
    await writeFile(join(own, 'edited.md'), '# A note\n');
    expect((await demoOn(process.execPath, 'data-of-own', own)).code).toBe(0);
    await writeFile(join(own, 'edited.md'), '# Another note\n');
    const { code, output } = await demoOn(MACHINE_NODE, 'data-of-own', own);
    expect(output).toContain('1 uploaded, 1 unchanged');
    expect(output).toMatch(/identical, byte for byte/);
    expect(code).toBe(0);
  });

  it('only reads the folder it is given', async () => {
    for (const [path, text] of Object.entries(NOTES))
      expect(await readFile(join(folder, path), 'utf8')).toBe(text);
  });

  it('reports a missing folder in one sentence, and exits with 1', async () => {
    const { code, output } = await demo(join(home, 'no such folder'));
    expect(output).toContain('no such folder is not a folder');
    expect(code).toBe(1);
  });

  it('copies a file that replaced another one, although size and mtime are the same', async () => {
    const [source, copy] = [join(home, 'source'), join(home, 'copy')];
    const place = (name: string): string => join(source, name);
    await mkdir(source);
    for (const name of ['a.md', 'b.md']) {
      await writeFile(place(name), `the text of ${name}`);
      await utimes(place(name), 1_000_000_000, 1_000_000_000);
    }
    await mirror(source, copy, join(source, '.none'));
    await rm(place('a.md'));
    await rename(place('b.md'), place('a.md'));
    await mirror(source, copy, join(source, '.none'));
    expect(await readFile(join(copy, 'a.md'), 'utf8')).toBe('the text of b.md');
    expect([...(await walk(copy)).files.keys()]).toEqual(['a.md']);
  });
});
