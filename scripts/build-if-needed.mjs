// Builds outputs that are older than their sources. In an image without sources there is nothing to build.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tools = ['node_modules/@swc/core/package.json', 'node_modules/rolldown/package.json'];

const compiled = 'dist/.compiled';
const sources = [
  'src',
  'client/src',
  'crypto/src',
  'examples',
  'bench',
  'package-lock.json',
  'scripts/compile.mjs',
  'scripts/swc-options.cjs',
];

const bundled = 'dist/service/.complete';
const installed = 'node_modules/.package-lock.json'; // npm writes it last

const isCompiled = isNewest(compiled, sources);
const isBundled = isCompiled && isNewest(bundled, [compiled, 'scripts/bundle.mjs', 'README.md', installed]);
const isImage = !existsSync(join(root, 'src'));
const canBuild = tools.every((tool) => existsSync(join(root, tool)));

if (!canBuild && !isImage && !isNewest(bundled, sources)) refuse();
if (canBuild && !isImage && !isBundled) {
  if (!existsSync(join(root, bundled))) console.error('Building the service; this takes some seconds, once.');
  if (!isCompiled) run('scripts/compile.mjs');
  run('scripts/bundle.mjs');
}

/** With NODE_ENV=production there are no development dependencies; an existing build is sufficient then. */
function refuse() {
  console.error(
    'The service is not built, and its build tools are not installed: run `npm ci --include=dev`, then start again.',
  );
  process.exit(1);
}

function isNewest(result, inputs) {
  return existsSync(join(root, result)) && inputs.every((input) => newest(input) <= newest(result));
}

function newest(name) {
  const path = join(root, name);
  if (!existsSync(path)) return 0;
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  return Math.max(stats.mtimeMs, ...readdirSync(path).map((entry) => newest(join(name, entry))));
}

/** Exits this process when the script fails. */
function run(script, ...args) {
  const { status } = spawnSync(process.execPath, [join(root, script), ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) process.exit(1);
}
