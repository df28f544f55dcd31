// Faults that somebody could make in this service, each with the promise that it breaks and the tests that must notice.
//
//   name     what is wrong, for the list
//   promise  what no longer holds
//   file     where; `find` must appear exactly once
//   also     further edits, in `file` unless they name another
//   tests    [spec, pattern of test names]: one of them must fail; all names without a pattern
//   faultIs500   the fault shows as a 500. Else a 500 counts as a fault that could not run.
//
// `npm run mutants` plants one after the other in a copy of the tree, `npm run mutants -- --list` prints the table of them;
// test/contract/mutants.spec.ts holds each of them to the source, so that none goes stale.
import { ACCESS_MUTANTS } from './access.mjs';
import { ADMIN_MUTANTS } from './admin.mjs';
import { ATTACK_MUTANTS } from './attacks.mjs';
import { BACKUP_MUTANTS } from './backups.mjs';
import { BATCH_MUTANTS } from './batches.mjs';
import { BYTES_MUTANTS } from './bytes.mjs';
import { CLIENT_CORE_MUTANTS } from './client-core.mjs';
import { CLIENT_HISTORY_MUTANTS } from './client-history.mjs';
import { CLIENT_MUTANTS } from './client.mjs';
import { COMMAND_LINE_MUTANTS } from './command-line.mjs';
import { DEPLOYMENT_MUTANTS } from './deployment.mjs';
import { FACTOR_MUTANTS } from './factors.mjs';
import { HISTORY_MUTANTS } from './history.mjs';
import { KEY_SLOT_MUTANTS } from './key-slots.mjs';
import { KEY_MUTANTS } from './keys.mjs';
import { LOG_MUTANTS } from './log.mjs';
import { MAIL_MUTANTS } from './mail.mjs';
import { NODE_MUTANTS } from './nodes.mjs';
import { OPERATION_MUTANTS } from './operation.mjs';
import { PASSWORD_MUTANTS } from './passwords.mjs';
import { SHARES_MUTANTS } from './shares.mjs';
import { SINGLE_SIGN_ON_MUTANTS } from './single-sign-on.mjs';
import { VAULT_MUTANTS } from './vault.mjs';

export const MUTANTS = [
  ...LOG_MUTANTS,
  ...HISTORY_MUTANTS,
  ...BYTES_MUTANTS,
  ...ACCESS_MUTANTS,
  ...PASSWORD_MUTANTS,
  ...FACTOR_MUTANTS,
  ...MAIL_MUTANTS,
  ...OPERATION_MUTANTS,
  ...NODE_MUTANTS,
  ...DEPLOYMENT_MUTANTS,
  ...SHARES_MUTANTS,
  ...ADMIN_MUTANTS,
  ...ATTACK_MUTANTS,
  ...BACKUP_MUTANTS,
  ...SINGLE_SIGN_ON_MUTANTS,
  ...KEY_MUTANTS,
  ...KEY_SLOT_MUTANTS,
  ...VAULT_MUTANTS,
  ...CLIENT_CORE_MUTANTS,
  ...CLIENT_MUTANTS,
  ...CLIENT_HISTORY_MUTANTS,
  ...COMMAND_LINE_MUTANTS,
  ...BATCH_MUTANTS,
];

/** All edits of a mutant, each with its file. */
export const editsOf = ({ file, find, replace, also = [] }) =>
  [{ find, replace }, ...also].map((edit) => ({ file, ...edit }));

/** @throws unless `find` occurs exactly once */
export function edited(text, { file, find, replace }) {
  const parts = text.split(find);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times: ${find}`);
  return parts.join(replace);
}

/** All of them as a table in Markdown: what is broken where, the promise that no longer holds, the specs that notice. */
export function tableOf(mutants) {
  const rows = mutants.map((mutant) => {
    const files = unique(editsOf(mutant).map(({ file }) => quoted(file)));
    const specs = unique(mutant.tests.map(([spec]) => quoted(spec.replace(/^test\/|\.spec\.ts$/g, ''))));
    return [mutant.name, files.join(', '), mutant.promise, specs.join(', ')];
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
