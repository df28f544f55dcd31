import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const TABLE = pathToFileURL(join(ROOT, 'test', 'mutants', 'index.mjs')).href;

interface Planted {
  readonly unit: string;
  readonly find: string;
  readonly replace: string;
}

interface Edit extends Planted {
  readonly file: string;
}

interface Mutant extends Planted {
  readonly name: string;
  readonly promise: string;
  readonly also?: readonly Partial<Planted>[];
  readonly tests: readonly (readonly [spec: string, pattern?: string])[];
}

const { MUTANTS, edited, editsOf, tableOf } = (await import(TABLE)) as {
  MUTANTS: readonly Mutant[];
  edited: (text: string, edit: Edit) => string;
  editsOf: (mutant: Mutant) => Edit[];
  tableOf: (mutants: readonly Mutant[]) => string;
};

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

describe('the faults of `npm run mutants`', () => {
  it('have unique names, and each names the promise that it breaks', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
    expect(MUTANTS.filter(({ promise }) => !/^[A-Z].*\.$/.test(promise))).toEqual([]);
  });

  it('are listed in a table, each with its units, its promise and the tests that notice', () => {
    const [head, rule, ...rows] = tableOf(MUTANTS)
      .split('\n')
      .map((line) => /^\| (.+) \|$/.exec(line)?.[1]?.split(' | '));
    expect(head).toEqual(['fault', 'planted in', 'promise that it breaks', 'caught by']);
    expect(rule).toEqual(['---', '---', '---', '---']);
    expect(rows.map((cells) => [cells?.length, cells?.[0], cells?.[2]])).toEqual(
      MUTANTS.map(({ name, promise }) => [4, name, promise]),
    );
    for (const [index, { unit, tests }] of MUTANTS.entries()) {
      expect(rows[index]?.[1]).toContain(`\`${unit}\``);
      for (const [spec] of tests)
        expect(rows[index]?.[3]).toContain(spec.replace(/^test\/|\.spec\.ts$/g, ''));
    }
  });

  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))('can be planted: %s', (_, mutant) => {
    const texts = new Map<string, string>();
    for (const edit of editsOf(mutant))
      texts.set(edit.file, edited(texts.get(edit.file) ?? read(edit.file), edit));
    for (const [file, text] of texts) expect(text).not.toBe(read(file));
  });

  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
    'use only members that exist or that they add: %s',
    (_, mutant) => {
      const edits = editsOf(mutant);
      const added = edits.map(({ replace }) => replace).join('\n');
      for (const { file, replace } of edits)
        for (const [member = '', name = ''] of replace.matchAll(/\bthis\.(\w+)/g))
          if (!read(file).includes(member)) expect(added).toMatch(new RegExp(`\\b${name}\\b(?: =|:|\\()`));
    },
  );

  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
    'name patterns that occur in the files of their tests: %s',
    (_, { tests }) => {
      expect(tests.length).toBeGreaterThan(0);
      for (const [spec, pattern = ''] of tests) expect(read(spec)).toMatch(new RegExp(pattern));
    },
  );
});

describe('the unit of a fault', () => {
  const edit = (unit: string, find = '') =>
    editsOf({ name: '', promise: '', unit, find, replace: '', tests: [] })[0] as Edit;

  it('is found by its name', () => {
    expect(edit('Pages.pull').file).toBe('src/domain/sync/pages.service.ts');
    expect(edit('sql:put_documents').file).toBe('src/domain/files/put-documents.sql');
    expect(edit('folder/plan#plan').file).toBe('client/src/folder/plan.ts');
  });

  it('is refused with an error that names the problem unless one unit has the name and text once', () => {
    expect(() => edit('Pages.nowhere')).toThrow(
      'no file in src, client/src, crypto/src declares Pages.nowhere',
    );
    expect(() => edit('addressIn')).toThrow('addressIn is ambiguous: src/');
    const first = edit('Pages.pull', 'first');
    expect(() => edited(read(first.file), first)).toThrow(/^"first" occurs \d+ times in Pages\.pull$/);
  });
});
