// `npm run crash -- [--rounds N] [--seed N] [--stop-seconds N]`: runs the crash test (test/quick/invariants/crash.both.spec.ts) for
// any number of rounds. Prints one line per round, and the totals of acknowledged, unknown and recovered changes.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const OPTIONS = {
  rounds: { type: 'string', default: '200' },
  seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  'stop-seconds': { type: 'string', default: '30' },
};

function settings() {
  try {
    const { values } = parseArgs({ options: OPTIONS });
    for (const [name, value] of Object.entries(values))
      if (!/^\d+$/.test(value)) throw new Error(`--${name} must be a whole number`);
    return values;
  } catch (error) {
    console.error(`${error.message}\nnpm run crash -- [--rounds N] [--seed N] [--stop-seconds N]`);
    process.exit(2);
  }
}

function node(args, env = {}) {
  const { status } = spawnSync(process.execPath, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  if (status !== 0) process.exit(status ?? 1);
}

const { rounds, seed, 'stop-seconds': stopSeconds } = settings();
node([join(root, 'scripts', 'build-if-needed.mjs')]);
node(
  [
    join(root, 'node_modules', 'jest', 'bin', 'jest.js'),
    '--maxWorkers=1',
    'test/quick/invariants/crash.both.spec.ts',
  ],
  { CRASH_ROUNDS: rounds, CRASH_SEED: seed, CRASH_STOP_SECONDS: stopSeconds },
);
