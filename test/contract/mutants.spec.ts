import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = join(import.meta.dirname, '..', '..');
const TABLE = pathToFileURL(join(ROOT, 'test', 'mutants', 'index.mjs')).href;

interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

interface Mutant extends Edit {
  readonly name: string;
  readonly promise: string;
  readonly also?: readonly Partial<Edit>[];
  readonly tests: readonly (readonly [spec: string, pattern?: string])[];
}

const { MUTANTS, edited, editsOf } = (await import(TABLE)) as {
  MUTANTS: readonly Mutant[];
  edited: (text: string, edit: Edit) => string;
  editsOf: (mutant: Mutant) => Edit[];
};

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

describe('the faults of `npm run mutants`', () => {
  it('are told apart by their names, and each names the promise that it breaks', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
    expect(MUTANTS.filter(({ promise }) => !/^[A-Z].*\.$/.test(promise))).toEqual([]);
  });

  it('stand in the documentation, each with its promise and the test that notices', () => {
    const rows = MUTANTS.map(({ name, promise, tests }) => [
      name,
      promise,
      tests.map(([spec]) => `\`${spec.replace(/^test\/|\.spec\.ts$/g, '')}\``).join(', '),
    ]);
    const documented = read('docs/lab/planted-faults.md')
      .split('\n')
      .map((line) => /^\| (.+) \| ([A-Z].*\.) \| (`.+`) \|$/.exec(line)?.slice(1))
      .filter((row) => row !== undefined);
    expect(documented.toSorted()).toEqual(rows.toSorted());
    expect(read('docs/lab/planted-faults.md')).toContain(`takes ${MUTANTS.length} faults`);
  });

  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))('can be planted: %s', (_, mutant) => {
    const texts = new Map<string, string>();
    for (const edit of editsOf(mutant))
      texts.set(edit.file, edited(texts.get(edit.file) ?? read(edit.file), edit));
    for (const [file, text] of texts) expect(text).not.toBe(read(file));
  });

  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
    'have tests that should notice: %s',
    (_, { tests }) => {
      expect(tests.length).toBeGreaterThan(0);
      for (const [spec, pattern = ''] of tests) expect(read(spec)).toMatch(new RegExp(pattern));
    },
  );
});
