// Runs the model test for a given number of runs: `npm run model -- --runs 20000 --seed 7`, after a build. Exits with 1
// when the service's answer differs from the model's, and prints the shortest failing sequence and how to replay it.
// `--keys`: tests the client that changes the key slots of a vault instead.
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
    'replay-path': { type: 'string' },
    keys: { type: 'boolean', default: false },
    lanes: { type: 'string', default: '2' }, // concurrent sequences
  },
});
for (const name of ['runs', 'seed', 'lanes']) {
  if (/^\d+$/.test(values[name])) continue;
  console.error(`--${name} must be a whole number`);
  process.exit(1);
}

const env = {
  ...process.env,
  ...(values.keys ? { KEY_SLOT_RUNS: values.runs, KEY_SLOT_SEED: values.seed } : {}),
  MODEL_RUNS: values.runs,
  MODEL_SEED: values.seed,
  MODEL_LANES: values.lanes,
  ...(values.path === undefined ? {} : { MODEL_PATH: values.path }),
  ...(values['replay-path'] === undefined ? {} : { MODEL_REPLAY_PATH: values['replay-path'] }),
};
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
const spec = values.keys ? 'deep/invariants/vault-keys' : 'quick/invariants/model.both';
const args = [jest, `test/${spec}.spec.ts`, '--maxWorkers=1', '--reporters=default'];
const test = spawn(process.execPath, args, { cwd: root, env, stdio: 'inherit' });
test.once('exit', (code) => (process.exitCode = code === 0 ? 0 : 1));
