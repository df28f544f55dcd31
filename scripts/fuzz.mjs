// Sends the service malformed and unexpected requests: `npm run fuzz -- --requests 100000 --seed 7`.
//
// The requests depend only on the seed, which is random by default and printed. Prints how often each operation gave each
// answer, and a shell command for every answer that violates the contract. Exits with 1 if there is one.
import './build-if-needed.mjs';
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const ROOT = join(import.meta.dirname, '..');
const { values } = parseArgs({
  options: { requests: { type: 'string', default: '10000' }, seed: { type: 'string' } },
});
const seed = Number(values.seed ?? randomInt(1_000_000));
const requests = Number(values.requests);
if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(requests) || requests < 1) {
  console.error('--requests and --seed must be whole numbers');
  process.exit(2);
}

const home = await mkdtemp(join(tmpdir(), 'fuzz-'));
const report = join(home, 'report.txt');
const started = Date.now();
console.log(`${requests} requests, seed ${seed}`);
const jest = join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js');
const child = spawn(process.execPath, [jest, '--maxWorkers=1', 'test/quick/contract/fuzz.both.spec.ts'], {
  cwd: ROOT,
  env: {
    ...process.env,
    ...{ FUZZ_REQUESTS: String(requests), FUZZ_SEED: String(seed), FUZZ_REPORT: report },
  },
  stdio: 'inherit',
});
const status = await new Promise((resolve) => child.once('close', resolve));
console.log(await readFile(report, 'utf8').catch(() => 'no request was sent'));
console.log(`seed ${seed}, ${Math.round((Date.now() - started) / 1000)} s`);
await rm(home, { recursive: true, force: true });
process.exit(status ?? 1);
