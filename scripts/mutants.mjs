// Plants faults one by one and checks that the corresponding tests fail: `npm run mutants [-- NAME …]`.
// `npm run mutants -- --list` prints the table of faults in Markdown and plants none.
//
// Each fault is planted in a copy of the tree; the specs listed in its entry in test/mutants run, and the fault is
// removed again. It counts as caught when a test fails because of its behavior: a fault that does not compile or
// start proves nothing. Prints a table and exits with 1 when a fault survives. `--sound` plants nothing and expects
// the same specs to pass.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedDatabase } from './embedded-database.mjs';
import { transpiled } from '../test/kit/runtime/transpiled.cjs';
import { edited, editsOf, MUTANTS, tableOf } from '../test/mutants/index.mjs';

const ROOT = join(import.meta.dirname, '..');
const NOT_COPIED = new Set(['node_modules', '.git', 'data', 'coverage']);
const LONGEST_MS = 5 * 60_000;

/** Output of a fault that cannot run, which would fail any test. */
const UNFIT =
  /SyntaxError|ReferenceError|Cannot find module|OperatorError|Nest can't resolve|got 500 "Internal Server Error"/;

const OPTIONS = ['--list', '--sound'];
const asked = process.argv.slice(2).filter((argument) => !OPTIONS.includes(argument));
const isSound = process.argv.includes('--sound');
const chosen = asked.length === 0 ? MUTANTS : MUTANTS.filter(({ name }) => asked.includes(name));
if (chosen.length < asked.length) {
  console.error(`Known names: ${MUTANTS.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}
if (process.argv.includes('--list')) {
  console.log(tableOf(chosen));
  process.exit(0);
}
await import('./build-if-needed.mjs');

const home = await mkdtemp(join(tmpdir(), 'mutants-'));
await chmod(home, 0o755); // some tests run parts of the service as another user
const copy = join(home, 'tree');
const started = [];
/** The original contents of the files that contain a fault. */
const sound = new Map();
let isStopped = false;
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    isStopped = true;
    for (const child of started) endGroup(child);
  });

const rows = [];
let database;
try {
  await copyTree();
  database = await startDatabase();
  for (const mutant of chosen) {
    if (isStopped) break;
    const begun = Date.now();
    const result = await tried(mutant);
    const seconds = ((Date.now() - begun) / 1000).toFixed(1);
    rows.push({ ...mutant, ...result, seconds });
    console.log(
      `${result.isCaught ? 'caught  ' : 'SURVIVED'} ${seconds.padStart(6)} s  ${mutant.name}: ${result.by}`,
    );
  }
} finally {
  await database?.stop();
  await rm(home, { recursive: true, force: true });
}

const caught = rows.filter(({ isCaught }) => isCaught).length;
console.log('\n| fault | promise | caught by | s |\n|---|---|---|---|');
for (const { name, promise, by, seconds } of rows)
  console.log(`| ${name} | ${promise} | ${by.replaceAll('|', '\\|')} | ${seconds} |`);
console.log(`\n${caught} of ${chosen.length} ${isSound ? 'without a fault pass' : 'caught'}`);
process.exit(caught === chosen.length ? 0 : 1);

async function copyTree() {
  await cp(ROOT, copy, {
    recursive: true,
    filter: (source) => !NOT_COPIED.has(source.slice(ROOT.length + 1)),
  });
  await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  // Without a bundle, so that a fault affects a single file of the build.
  await writeFile(join(copy, 'dist/service/main.js'), "import '../src/main.js';\n");
  await writeFile(join(copy, 'dist/service/admin.js'), "import '../src/operations/admin/main.js';\n");
}

/** One server for all runs: starting it takes longer than most of these tests. */
async function startDatabase() {
  const { runningServerUrl } = await import('../dist/src/platform/database/index.js');
  const dataDir = join(home, 'database');
  await mkdir(dataDir);
  const server = await startEmbeddedDatabase(dataDir);
  const url = await runningServerUrl(dataDir);
  return { url, stop: () => server.stop() };
}

async function tried(mutant) {
  if (isSound) {
    const failures = await failuresIn(mutant);
    return { isCaught: failures.length === 0, by: failures[0]?.name ?? 'passes' };
  }
  try {
    await plant(mutant);
    return verdict(mutant, await failuresIn(mutant));
  } catch (error) {
    return { isCaught: false, by: `does not apply: ${error.message}` };
  } finally {
    await takeOut();
  }
}

function verdict({ faultIs500 = false }, failures) {
  const [first] = failures;
  if (!first) return { isCaught: false, by: 'nothing' };
  const unfit = failures.find(({ message }) =>
    UNFIT.test(message.replace(faultIs500 ? /Expected: .*|got 500.*/g : /Expected: .*/g, '')),
  );
  if (unfit) return { isCaught: false, by: `a fault that could not run: ${unfit.message.slice(0, 300)}` };
  return { isCaught: true, by: `${first.spec}: ${first.name}` };
}

/** Edits the sources, which the tests read, and their build output, which other processes run. */
async function plant(mutant) {
  for (const edit of editsOf(mutant)) {
    const path = join(copy, edit.file);
    const text = edited(await readFile(path, 'utf8'), edit);
    if (!edit.file.endsWith('.ts') && !edit.file.endsWith('.tsx')) {
      await write(path, text); // runs without a build, except where that copies the file
      if (existsSync(builtOf(edit.file))) await write(builtOf(edit.file), text);
      continue;
    }
    const { code } = transpiled(edit.file, text); // throws on invalid TypeScript
    await write(path, text);
    await write(builtOf(edit.file), code);
  }
}

/** Remembers the original content. */
async function write(path, text) {
  if (!sound.has(path)) sound.set(path, await readFile(path, 'utf8'));
  await writeFile(path, text);
}

async function takeOut() {
  for (const [path, text] of sound) await writeFile(path, text);
  sound.clear();
}

function builtOf(file) {
  return join(copy, 'dist', file.replace(/\.tsx?$/, '.js'));
}

/** The failures of the first spec that has any. */
async function failuresIn({ tests }) {
  for (const [spec, pattern] of tests) {
    const failures = await failuresOf(spec, pattern);
    if (failures.length > 0) return failures;
  }
  return [];
}

async function failuresOf(spec, pattern) {
  const report = join(home, 'report.json');
  await rm(report, { force: true });
  await run([
    '--maxWorkers=1',
    '--testTimeout=60000',
    '--json',
    `--outputFile=${report}`,
    spec,
    ...(pattern ? ['-t', pattern] : []),
  ]);
  const text = await readFile(report, 'utf8').catch(() => {
    throw new Error(`${spec} did not finish within ${LONGEST_MS / 1000} s`);
  });
  const { testResults, numTotalTests, numPendingTests } = JSON.parse(text);
  if (numTotalTests === numPendingTests) throw new Error(`${spec} ran no test: ${testResults[0]?.message}`);
  return testResults.flatMap(({ assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) => ({
        spec: spec.replace(/^test\/|\.spec\.ts$/g, ''),
        name: fullName,
        message: failureMessages.join('\n'),
      })),
  );
}

async function run(args) {
  const jest = join(copy, 'node_modules', 'jest', 'bin', 'jest.js');
  const child = spawn(process.execPath, [jest, ...args], {
    cwd: copy,
    detached: true, // a process group of its own, to be killed with its children
    env: { ...process.env, TEST_DATABASE_URL: database.url, GIVE_UP_AFTER_MS: '10000' },
    stdio: process.env.VERBOSE ? 'inherit' : 'ignore',
  });
  started.push(child);
  const limit = setTimeout(() => endGroup(child), LONGEST_MS);
  await new Promise((resolve) => child.once('close', resolve));
  clearTimeout(limit);
  started.splice(started.indexOf(child), 1);
}

function endGroup({ pid }) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // it has already ended
  }
}
