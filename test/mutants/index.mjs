// Faults that somebody could make, each with the promise that it breaks and the tests that must notice. They are about data,
// access, keys, money, and the edits of the client's user.
//
//   name     what is wrong, for the list
//   promise  what no longer holds
//   unit     the code, by its name (unit.mjs); `find` must occur exactly once in it
//   also     further edits, in `unit` unless they name another
//   tests    [spec, pattern of test names]: one of them must fail; all names without a pattern
//   faultIs500   the fault shows as a 500. Else a 500 counts as a fault that could not run.
//
// `npm run mutants` plants one after the other in a copy of the tree, `npm run mutants -- --list` prints the table of them;
// test/quick/contract/mutants.spec.ts checks that each can be planted.
import { ACCESS_MUTANTS } from './access.mjs';
import { CLIENT_MUTANTS } from './client.mjs';
import { DATA_MUTANTS } from './data.mjs';
import { KEY_MUTANTS } from './keys.mjs';
import { MONEY_MUTANTS } from './money.mjs';
import { fileOf } from './unit.mjs';

export { edited } from './unit.mjs';

export const MUTANTS = [
  ...DATA_MUTANTS,
  ...ACCESS_MUTANTS,
  ...KEY_MUTANTS,
  ...MONEY_MUTANTS,
  ...CLIENT_MUTANTS,
];

/** All edits of a mutant, each with its unit and the file of that. @throws when there is no such unit, or more than one */
export const editsOf = ({ unit, find, replace, also = [] }) =>
  [{ find, replace }, ...also]
    .map((edit) => ({ unit, ...edit }))
    .map((edit) => ({ file: fileOf(edit.unit), ...edit }));

/** All of them as a table in Markdown: what is broken where, the promise that no longer holds, the specs that notice. */
export function tableOf(mutants) {
  const rows = mutants.map((mutant) => {
    const units = unique([mutant, ...(mutant.also ?? [])].map(({ unit = mutant.unit }) => quoted(unit)));
    const specs = unique(mutant.tests.map(([spec]) => quoted(spec.replace(/^test\/|\.spec\.ts$/g, ''))));
    return [mutant.name, units.join(', '), mutant.promise, specs.join(', ')];
  });
  const lines = [
    ['fault', 'planted in', 'promise that it breaks', 'caught by'],
    Array(4).fill('---'),
    ...rows,
  ];
  return lines.map((cells) => `| ${cells.map(escaped).join(' | ')} |`).join('\n');
}

const unique = (values) => [...new Set(values)];
const quoted = (text) => `\`${text}\``;
const escaped = (cell) => cell.replaceAll('|', '\\|');
