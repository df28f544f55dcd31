import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT } from '../../kit/deployment.js';

/** A stand-in for the compiler or the bundler: records that it ran, and writes the file that marks its completion. */
const standIn = (step: string, ...files: string[]): string => `
  import('node:fs').then(({ appendFileSync, existsSync, mkdirSync, writeFileSync }) => {
    appendFileSync('ran', '${step} ');
    if (existsSync('fails')) process.exit(1);
    for (const file of ${JSON.stringify(files)}) {
      mkdirSync(file.slice(0, file.lastIndexOf('/')), { recursive: true });
      writeFileSync(file, '');
    }
  });`;

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sync-build-'));
  cpSync(join(ROOT, 'scripts/build-if-needed.mjs'), join(root, 'scripts/build-if-needed.mjs'));
  write('scripts/compile.mjs', standIn('compiled', 'dist/.compiled'));
  for (const name of ['@swc/core', 'rolldown']) write(`node_modules/${name}/package.json`);
  write('scripts/bundle.mjs', standIn('bundled', 'dist/service/.complete'));
  write('src/main.ts');
  write('node_modules/.package-lock.json');
  age();
});
afterEach(() => rmSync(root, { recursive: true }));

function write(name: string, content = ''): void {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), content);
}

/** Makes every existing file a minute older. */
function age(): void {
  for (const name of readdirSync(root, { recursive: true }) as string[]) {
    const before = new Date(statSync(join(root, name)).mtimeMs - 60_000);
    utimesSync(join(root, name), before, before);
  }
}

/** Runs `scripts/build-if-needed.mjs`. @returns what ran, its exit code and what it said */
function build(): { ran: string; status: number | null; said: string } {
  writeFileSync(join(root, 'ran'), '');
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/build-if-needed.mjs')]);
  const ran = readFileSync(join(root, 'ran'), 'utf8').trim();
  age();
  return { ran, status, said: stderr.toString() };
}

function built(): [string, number | null] {
  const { ran, status } = build();
  return [ran, status];
}

describe('the build before a command', () => {
  it('makes everything at first, and then nothing', () => {
    expect(built()).toEqual(['compiled bundled', 0]);
    expect(built()).toEqual(['', 0]);
  });

  it('is announced the first time, because it takes a while', () => {
    expect(build().said).toBe('Building the service; this takes some seconds, once.\n');
    expect(build().said).toBe('');
    write('src/main.ts');
    expect(build().said).toBe('');
  });

  it.each(['@swc/core', 'rolldown'])(
    'is refused in one sentence without %s, as after NODE_ENV=production, unless it was built before',
    (name) => {
      const tool = join(root, 'node_modules', name);
      cpSync(tool, `${tool}-away`, { recursive: true });
      rmSync(tool, { recursive: true });
      expect(build()).toEqual({
        ran: '',
        status: 1,
        said: 'The service is not built, and its build tools are not installed: run `npm ci --include=dev`, then start again.\n',
      });

      cpSync(`${tool}-away`, tool, { recursive: true });
      expect(built()).toEqual(['compiled bundled', 0]);
      rmSync(tool, { recursive: true });
      write('node_modules/.package-lock.json');
      expect(built()).toEqual(['', 0]);
      write('src/main.ts');
      expect(built()).toEqual(['', 1]);
    },
  );

  it('makes everything after an edit', () => {
    built();
    write('src/domain/files/files.service.ts');
    expect(built()).toEqual(['compiled bundled', 0]);
  });

  it('makes only the bundle after packages were installed', () => {
    built();
    write('node_modules/.package-lock.json');
    expect(built()).toEqual(['bundled', 0]);
  });

  it('is repeated after it was interrupted or failed', () => {
    expect(built()).toEqual(['compiled bundled', 0]);
    rmSync(join(root, 'dist/service/.complete'));
    expect(built()).toEqual(['bundled', 0]);
    rmSync(join(root, 'dist/.compiled'));
    write('fails');
    expect(built()).toEqual(['compiled', 1]);
    rmSync(join(root, 'fails'));
    expect(built()).toEqual(['compiled bundled', 0]);
  });

  it('makes nothing without sources, as in the image', () => {
    for (const name of ['node_modules/@swc', 'src']) rmSync(join(root, name), { recursive: true });
    expect(built()).toEqual(['', 0]);
  });
});

describe('the bundle', () => {
  it('has only Latin-1 characters, so that the engine keeps its text with one byte for each', () => {
    const files = readdirSync(join(ROOT, 'dist/service')).filter((name) => name.endsWith('.js'));
    expect(files).toContain('main.js');
    expect(
      files.filter((name) => /[^\0-\xff]/.test(readFileSync(join(ROOT, 'dist/service', name), 'utf8'))),
    ).toEqual([]);
  });

  it('is marked as complete after all its files are written', () => {
    const service = join(ROOT, 'dist/service');
    const times = (readdirSync(service, { recursive: true }) as string[]).map(
      (name) => statSync(join(service, name)).mtimeMs,
    );
    expect(statSync(join(service, '.complete')).mtimeMs).toBe(Math.max(...times));
  });
});
