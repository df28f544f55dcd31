import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** What each file of a run has; the first two tests are sound. */
const TESTS = `
  it('finds no mock of another file', () => {
    expect(Math.random()).toBeLessThan(1);
    jest.spyOn(Math, 'random').mockReturnValue(7);
  });
  it('waits', () => new Promise((resolve) => setTimeout(resolve, 20)));
  it('is wrong', () => expect(1).toBe(2));
  it('rejects what nobody looks at', () => void Promise.reject(new Error('unseen')));
  it('throws outside', () =>
    new Promise((resolve) => {
      setTimeout(() => { throw new Error('outside'); }, 1);
      setTimeout(resolve, 20);
    }));
  it('never ends', () => new Promise(() => undefined), 100);
  it('asserts less than it says', () => expect.assertions(1));
`;

interface Results {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[];
  }[];
}

let home: string;
beforeAll(async () => (home = await mkdtemp(join(tmpdir(), 'runtime-'))));
afterAll(() => rm(home, { recursive: true, force: true }));

describe('the runtime of the tests', () => {
  it('catches in each test file of a worker what it catches in the first', async () => {
    const specs = join(home, 'specs');
    await mkdir(specs);
    for (const name of ['one', 'two', 'three']) await writeFile(join(specs, `${name}.spec.mjs`), TESTS);
    const { testResults } = await run({ rootDir: specs, testMatch: ['**/*.spec.mjs'] });
    const failed = testResults.map(({ assertionResults }) =>
      assertionResults.filter(({ status }) => status === 'failed').map(({ title }) => title),
    );
    const each = [
      'is wrong',
      'rejects what nobody looks at',
      'throws outside',
      'never ends',
      'asserts less than it says',
    ];
    expect(failed).toEqual([each, each, each]);
  });
});

/** All in this one worker, one file after the other. */
async function run(config: object): Promise<Results> {
  const output = join(home, 'results.json');
  const runtime = join(ROOT, 'test/kit/runtime/index.cjs');
  const args = [
    join(ROOT, 'node_modules/jest/bin/jest.js'),
    '--runInBand',
    ...['--config', JSON.stringify({ ...config, runtime, transform: {} })],
    ...['--json', '--outputFile', output],
  ];
  await new Promise<void>((resolve) => execFile(process.execPath, args, { cwd: home }, () => resolve()));
  return JSON.parse(await readFile(output, 'utf8')) as Results;
}
