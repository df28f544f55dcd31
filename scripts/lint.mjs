// Types, oxlint, prettier and the import rules. With --changed, only the files that differ from the last commit, and the imports
// of all: seconds instead of a minute. A type error that a change causes in another file is found only without --changed.
import { execFileSync, spawnSync } from 'node:child_process';

const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).split('\0').filter(Boolean);

/** Files that differ from the last commit, and new ones. */
const changed = () => [
  ...git('diff', '--name-only', '-z', '--relative', '--diff-filter=d', 'HEAD'),
  ...git('ls-files', '-z', '--others', '--exclude-standard'),
];

/** Ends with status 1 when the command, of node_modules/.bin as npm has it in PATH, does not succeed. */
function run(command, ...values) {
  const { status, error } = spawnSync(command, values, { stdio: 'inherit' });
  if (error) console.error(error.message);
  if (status !== 0) process.exit(1);
}

const files = process.argv.includes('--changed') ? changed() : ['.'];
const code = files.filter((file) => /^\.$|\.(tsx?|[mc]?js)$/.test(file));

if (code.length > 0) run('oxlint', '--type-aware', '--type-check', ...code);
if (files.length > 0) run('prettier', '--check', '--cache', '--ignore-unknown', ...files);
run('depcruise', 'src', 'client/src', 'crypto/src', 'examples', '--config', '.dependency-cruiser.mjs');
