// Runs the tests against PostgreSQL servers of several major versions: `npm run test:postgres`, after a build. By default
// all tests against each supported version; `--majors 15,18` and patterns of specs select some. For your own server:
// `TEST_DATABASE_URL=… npm test`. Exits with 1 when a test fails on any version.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { useMemory } from '../test/kit/temporary-files.mjs';
import { startPostgres, VERSIONS } from './postgres-majors.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values, positionals: patterns } = parseArgs({
  allowPositionals: true,
  options: { majors: { type: 'string', default: Object.keys(VERSIONS).join() }, workers: { type: 'string' } },
});
const majors = values.majors.split(',');
const unknown = majors.filter((major) => !(major in VERSIONS));
if (unknown.length > 0) {
  console.error(`--majors must be among ${Object.keys(VERSIONS).join()}`);
  process.exit(2);
}

const memory = await useMemory();
const results = [];
for (const major of majors)
  results.push(`PostgreSQL ${major}: ${(await passesOn(major)) ? 'passed' : 'FAILED'}`);
if (memory) await rm(memory, { recursive: true, force: true });
console.log(results.join('\n'));
process.exitCode = results.some((line) => line.endsWith('FAILED')) ? 1 : 0;

async function passesOn(major) {
  const server = await startPostgres(major);
  try {
    console.log(`PostgreSQL ${major} (${VERSIONS[major]})`);
    const workers = values.workers ? [`--maxWorkers=${values.workers}`] : [];
    const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
    const args = ['--max-semi-space-size=64', jest, ...workers, ...patterns];
    const env = { ...process.env, TEST_DATABASE_URL: server.url };
    const run = spawn(process.execPath, args, { cwd: root, env, stdio: 'inherit' });
    const [code] = await once(run, 'exit');
    return code === 0;
  } finally {
    await server.stop();
  }
}
