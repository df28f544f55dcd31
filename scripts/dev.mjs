// Builds and runs the service, and does so again after each change of a source: `npm run dev`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { join } from 'node:path';

const QUIET_MS = 200;
const root = join(import.meta.dirname, '..');

let child;
let isStale = true;
let isOver = false;
let wake = () => undefined;

let timer;
for (const folder of ['src', 'crypto/src'])
  watch(join(root, folder), { recursive: true }, () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      isStale = true;
      end('SIGTERM');
      wake();
    }, QUIET_MS);
  });

for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    isOver = true;
    end(signal);
    wake();
  });

// One after the other: two builds at once would overwrite each other's output.
while (!isOver) {
  if (isStale) {
    isStale = false;
    const isBuilt = (await run('scripts/compile.mjs')) === 0 && (await run('scripts/bundle.mjs')) === 0;
    if (isBuilt && !isStale && !isOver) await run('dist/service/main.js');
  } else {
    await new Promise((resolve) => (wake = resolve)); // the build failed, or the service has ended
  }
}
process.exit();

/** @returns the exit code; null after a signal */
async function run(script) {
  child = spawn(process.execPath, [join(root, script)], { cwd: root, stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  return code;
}

function end(signal) {
  if (child && child.exitCode === null && child.signalCode === null) child.kill(signal);
}
