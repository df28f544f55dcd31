// Builds when a source is newer than the last build. In an image without the compiler there is nothing newer.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const nest = join(root, 'node_modules', '@nestjs', 'cli', 'bin', 'nest.js');
const inputs = ['src', 'examples', 'bench', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];

function newest(path) {
  if (!existsSync(path)) return 0;
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  return Math.max(stats.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))));
}

const built = join(root, 'dist', '.tsbuildinfo');
const isStale =
  !existsSync(built) || Math.max(...inputs.map((name) => newest(join(root, name)))) > statSync(built).mtimeMs;
if (isStale && existsSync(nest)) {
  const { status } = spawnSync(process.execPath, [nest, 'build'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) process.exit(1);
}
