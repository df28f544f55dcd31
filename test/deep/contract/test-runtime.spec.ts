import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');

/** The first file: one focused test, which leaves a mock and a changed environment behind. */
const FOCUSED = `
  it('is not asked for', () => undefined);
  it.only('is asked for', () => {
    process.env.LEFT = 'by the first';
    process.env.TZ = 'Australia/Eucla';
    jest.spyOn(Math, 'random').mockReturnValue(7);
  });
`;

/** Each of the other files; its first three tests pass. */
const TESTS = `
  it('finds no mock of another file', () => {
    expect(Math.random()).toBeLessThan(1);
    jest.spyOn(Math, 'random').mockReturnValue(7);
  });
  it('finds the environment as the run has it', () => {
    expect([process.env.LEFT, process.env.TZ]).toEqual([undefined, 'UTC']);
    delete process.env.TZ;
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
const WANTED = [
  'finds no mock of another file: passed',
  'finds the environment as the run has it: passed',
  'waits: passed',
  'is wrong: failed',
  'rejects what nobody looks at: failed',
  'throws outside: failed',
  'never ends: failed',
  'asserts less than it says: failed',
];

/** A setup file. */
const WHEN_OVER = `
  whenFileIsOver(async () => {
    if (globalThis.isLastHookDone) throw new Error('it was done');
  });
  whenFileIsOver(() => {
    if (globalThis.isLastHookDone) throw new Error('and asked twice');
  });
`;
const SOUND = `it('is sound', () => undefined);`;
const LATE = `${SOUND} afterAll(() => (globalThis.isLastHookDone = true));`;

/** A file of both suites, by the module that all files of a worker share. */
const OF_BOTH = `
  import { describeDeep, itDeep } from '${ROOT}/test/kit/rounds.ts';
  itDeep('takes long', () => undefined);
  itDeep.each([1, 2])('takes long with %s', () => undefined);
  describeDeep('a long story', () => it('has a part', () => undefined));
`;

/** A file that cannot be loaded. */
const BROKEN = `throw new Error('it cannot be loaded');`;

/** Reporters, which run in the process of the test files. */
const SPEAKING = `export default class { onRunComplete() { console.log('all are over'); } }`;
const COUNTING = `
  const count = () => ['uncaughtException', 'unhandledRejection'].map((event) => process.listenerCount(event)).join();
  export default class {
    onRunStart() { this.before = count(); }
    onRunComplete() { process.stdout.write('listening before: ' + this.before + ', after: ' + count() + '\\n'); }
  }
`;

/** Runs the files in the order of their names. */
const BY_NAME = `
  import { createRequire } from 'node:module';
  const { default: Sequencer } = createRequire('${ROOT}/package.json')('@jest/test-sequencer');
  export default class extends Sequencer {
    sort(tests) { return [...tests].sort((a, b) => a.path.localeCompare(b.path)); }
  }
`;

interface Results {
  readonly testResults: readonly {
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[];
  }[];
}

let home: string;
beforeEach(async () => (home = await mkdtemp(join(tmpdir(), 'runtime-'))));
afterEach(() => rm(home, { recursive: true, force: true }));

describe('the runtime of the tests', () => {
  it('runs each test file of a process like the first, whatever earlier files leave behind', async () => {
    const files = { a: FOCUSED, b: TESTS, c: TESTS, d: TESTS };
    const { results } = await run(files);
    expect(statusesOf(results)).toEqual([
      ['is not asked for: pending', 'is asked for: passed'],
      WANTED,
      WANTED,
      WANTED,
    ]);
  });

  it('runs the files after one that could not be loaded', async () => {
    const { results } = await run({ a: BROKEN, b: TESTS, c: SOUND });
    expect(results.testResults[0]!.message).toContain('it cannot be loaded');
    expect(statusesOf(results)).toEqual([[], WANTED, ['is sound: passed']]);
  });

  it('leaves no error listeners behind, including for a file that could not be loaded', async () => {
    const reporters = [await written('reporter.mjs', COUNTING)];
    const { output } = await run({ a: BROKEN, b: SOUND }, { reporters });
    expect(output).toMatch(/listening before: (\d+,\d+), after: \1\n/);
  });

  it('runs checks after the last hook of a file, and fails the file if they fail', async () => {
    const setupFilesAfterEnv = [await written('setup.mjs', WHEN_OVER)];
    const { results } = await run({ a: SOUND, b: LATE }, { setupFilesAfterEnv });
    expect(results.testResults.map(({ status }) => status)).toEqual(['passed', 'failed']);
    expect(results.testResults[1]!.message).toMatch(/it was done[^]*and asked twice/);
    expect(statusesOf(results)).toEqual([['is sound: passed'], ['is sound: passed']]);
  });

  it('declares the long tests of both suites in each file', async () => {
    const { results } = await run({ a: OF_BOTH, b: OF_BOTH });
    const all = ['takes long', 'takes long with 1', 'takes long with 2', 'has a part'];
    const expected = all.map((title) => `${title}: passed`);
    expect(statusesOf(results)).toEqual([expected, expected]);
  });

  it('lets a reporter print after the last file', async () => {
    const reporters = [await written('reporter.mjs', SPEAKING)];
    const { exitCode, output } = await run({ a: SOUND, b: SOUND }, { reporters });
    expect(output).toContain('all are over');
    expect(exitCode).toBe(0);
  });

  it('reports lines of the TypeScript source', async () => {
    const text = await readFile(import.meta.filename, 'utf8');
    const line = text.split('\n').findIndex((each) => each.trim().startsWith('expect(new Error')) + 1;
    expect(new Error('here').stack).toContain(`test-runtime.spec.ts:${line}:`);
  });

  it('lets jest find the tests of a source file', async () => {
    const { output } = await jestOf(
      ['--listTests', '--findRelatedTests', 'src/domain/auth/identity-pool.ts'],
      ROOT,
    );
    expect(output).toContain('test/deep/api/identity.spec.ts');
  });
});

const statusesOf = ({ testResults }: Results): string[][] =>
  testResults.map(({ assertionResults }) =>
    assertionResults.map(({ title, status }) => `${title}: ${status}`),
  );

/** Runs all files in one process, one after the other in the order of their names. */
async function run(files: Readonly<Record<string, string>>, config: object = {}) {
  const specs = join(home, 'specs');
  await mkdir(specs);
  for (const [name, text] of Object.entries(files)) await writeFile(join(specs, `${name}.spec.mjs`), text);
  const whole = {
    ...{ rootDir: specs, testMatch: ['**/*.spec.mjs'], transform: {}, cacheDirectory: join(home, 'cache') },
    runtime: join(ROOT, 'test/kit/runtime/index.cjs'),
    ...config,
  };
  const at = join(home, 'results.json');
  const sequencer = await written('by-name.mjs', BY_NAME);
  const args = ['--runInBand', '--config', JSON.stringify(whole), '--testSequencer', sequencer];
  const outcome = await jestOf([...args, '--json', '--outputFile', at], home);
  const text = await readFile(at, 'utf8').catch(() => Promise.reject(new Error(outcome.output)));
  return { ...outcome, results: JSON.parse(text) as Results };
}

async function written(name: string, text: string): Promise<string> {
  const path = join(home, name);
  await writeFile(path, text);
  return path;
}

function jestOf(args: readonly string[], cwd: string): Promise<{ exitCode: number; output: string }> {
  const command = [join(ROOT, 'node_modules/jest/bin/jest.js'), ...args];
  const env = { ...process.env, TZ: 'UTC' };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, command, { cwd, env }, (_, stdout, stderr) =>
      resolve({ exitCode: child.exitCode ?? -1, output: stdout + stderr }),
    );
  });
}
