// Runs the simulator of syncing devices many times: `npm run simulator -- --runs 20000 --seed 7`. Exits with 1 when a
// content was lost or devices end up different, and prints the shortest sequence and the path to replay it.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '20000' },
    seed: { type: 'string', default: String(Math.trunc(Math.random() * 2 ** 30)) },
    // The path that a failing sequence prints: only that sequence is run.
    path: { type: 'string' },
  },
});
for (const name of ['runs', 'seed']) {
  if (/^\d+$/.test(values[name])) continue;
  console.error(`--${name} must be a whole number`);
  process.exit(1);
}

const env = {
  ...process.env,
  SIMULATOR_RUNS: values.runs,
  SIMULATOR_SEED: values.seed,
  ...(values.path === undefined ? {} : { SIMULATOR_PATH: values.path }),
};
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
const args = [jest, 'test/quick/client/simulator.both.spec.ts', '--maxWorkers=1', '--testTimeout=36000000'];
const test = spawn(process.execPath, args, { cwd: root, env, stdio: 'inherit' });
test.once('exit', (code) => (process.exitCode = code === 0 ? 0 : 1));
