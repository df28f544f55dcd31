import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Bench } from './bench.js';
import { cases } from './cases.js';
import type { Result } from './measure/beside.js';
import { table } from './measure/report.js';

/**
 * Measures the service against its theoretical limits, alternating within one run: absolute numbers vary with the
 * machine, ratios do not. Prints one JSON line per measurement, and a table at the end.
 *
 *     npm run bench [-- --long] [case…]     npm run bench -- --list
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { list: { type: 'boolean', default: false }, long: { type: 'boolean', default: false } },
});
const unknown = positionals.filter((name) => !cases.some((one) => one.name === name));

if (values.list || unknown.length > 0) {
  for (const { name, says } of cases) console.log(`${name.padEnd(12)} ${says}`);
  if (unknown.length > 0) throw new Error(`no such case: ${unknown.join(', ')}`);
} else {
  await measureAll();
}

async function measureAll(): Promise<void> {
  const chosen = cases.filter(({ name, isExtra }) =>
    positionals.length === 0 ? !isExtra : positionals.includes(name),
  );
  const directory = await mkdtemp(join(tmpdir(), 'sync-bench-'));
  const results: Result[] = [];
  const bench = new Bench(directory, values.long);
  let ending: Promise<void> | undefined;
  const end = (): Promise<void> =>
    (ending ??= bench.stop().then(() => rm(directory, { recursive: true, force: true })));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void end().finally(() => process.exit(1)));
  }
  try {
    for (const { run } of chosen) {
      for await (const result of run(bench)) {
        console.log(JSON.stringify(result));
        results.push(result);
      }
    }
    console.log(`\n${table(results)}`);
  } finally {
    await end();
  }
}
