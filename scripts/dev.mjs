// Runs the service, and builds and starts it again after each change of a source: `npm run dev`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { watch } from 'chokidar';

const QUIET_MS = 200;
const root = join(import.meta.dirname, '..');
let service;
let timer;

watch(join(root, 'src'), { ignoreInitial: true }).on('all', () => {
  clearTimeout(timer);
  timer = setTimeout(() => void restart(), QUIET_MS);
});
await restart();

async function restart() {
  const previous = service;
  if (previous?.exitCode === null) {
    previous.kill();
    await once(previous, 'exit');
  }
  if (service !== previous) return; // another change was faster
  service = spawn(process.execPath, [join(root, 'scripts/start.mjs')], { cwd: root, stdio: 'inherit' });
}

for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    service.kill(signal);
    service.once('exit', (code) => process.exit(code ?? 0));
  });
