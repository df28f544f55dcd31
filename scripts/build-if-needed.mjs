// Builds what is older than what it is made of. In an image without the compiler there is nothing to build with.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const nest = 'node_modules/@nestjs/cli/bin/nest.js';

const compiled = 'dist/.tsbuildinfo';
const sources = ['src', 'examples', 'bench', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];

const bundled = 'dist/service/.complete';
const installed = 'node_modules/.package-lock.json'; // npm writes it last

if (existsSync(join(root, nest))) {
  const isCompiled = isNewest(compiled, sources) && existsSync(join(root, 'dist/src/main.js')); // none when types are wrong
  if (!isCompiled) run(nest, 'build');
  if (!isNewest(bundled, [compiled, 'scripts/bundle.mjs', installed])) run('scripts/bundle.mjs');
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

/** Ends this process when it fails. */
function run(script, ...args) {
  const { status } = spawnSync(process.execPath, [join(root, script), ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) process.exit(1);
}
