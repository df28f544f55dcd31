import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cases } from './cases.js';
import { prepare } from './prepare.js';
import { measureProjections } from './projections.js';
import { measureRealtime } from './realtime.js';
import { measureRetention } from './retention.js';

const ROUNDS = 5;

/**
 * Each case runs against the service and against a bare server that does the same with the least code, in turns in one
 * run: machines are noisy, ratios are not. The large projections run beside a count of the same rows. Prints one JSON
 * line per case, medians.
 */
const directory = await mkdtemp(join(tmpdir(), 'sync-bench-'));
const bench = await prepare(directory);
try {
  for (const { name, run } of cases) {
    const service: number[] = [];
    const reference: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      service.push(await run(bench, bench.serviceUrl));
      reference.push(await run(bench, bench.referenceUrl));
    }
    const [ours, limit] = [median(service), median(reference)];
    const ratio = Math.round((ours / limit) * 100) / 100;
    console.log(
      JSON.stringify({
        case: name,
        perSecond: Math.round(ours),
        referencePerSecond: Math.round(limit),
        ratio,
      }),
    );
  }
  for (const result of await measureRealtime(bench)) console.log(JSON.stringify(result));
  for (const result of await measureProjections(bench)) console.log(JSON.stringify(result));
  for (const result of await measureRetention(bench, directory)) console.log(JSON.stringify(result));
} finally {
  await bench.stop();
  await rm(directory, { recursive: true, force: true });
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
