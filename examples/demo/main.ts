import { createHash } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Workspace } from '../../client/src/core/index.js';
import type { Report } from '../../client/src/folder/index.js';
import { type Account, openVault, setUpAccount } from './account.js';
import { Device } from './device.js';
import { filesOf, number } from './format.js';
import { compare, mirror } from './mirror.js';
import { clearProgress, explain, say, sayFew, showProgress } from './print.js';
import { Scenes } from './scenes.js';
import { Service } from './service.js';
import { walk } from './walk.js';

const DATA_DIR = resolve(process.env['DATA_DIR'] ?? 'data');
const DEMO_DIR = join(DATA_DIR, 'demo');
const OWN_DOCS = fileURLToPath(new URL('../../../docs/', import.meta.url));

/** The demo: syncs a folder from a laptop through the service to a phone, then changes it on both. */
async function main(): Promise<boolean> {
  const startedAt = performance.now();
  // npm changes the working directory; INIT_CWD is the one of the caller.
  const source = resolve(process.env['INIT_CWD'] ?? '.', process.argv[2] ?? OWN_DOCS);
  const isFolder = (await stat(source).catch(() => undefined))?.isDirectory();
  if (!isFolder) throw new Error(`${source} is not a folder`);
  console.log('\nEnd-to-end encrypted sync of a folder\n');
  say('folder', `${source} (it is only read)`);

  const given = process.env['BASE_URL']?.replace(/\/+$/, '');
  const service = given ? undefined : await Service.start(join(DEMO_DIR, 'service'));
  try {
    const baseUrl = given ?? service?.baseUrl ?? '';
    say('service', given ? baseUrl : `${baseUrl}, started for this demo`);
    const home = join(DEMO_DIR, shortHash(`${given ?? 'own'}\n${source}`));
    const isIdentical = await tellStory(baseUrl, home, source);
    say('time', `${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
    return isIdentical;
  } finally {
    clearProgress();
    await service?.stop();
  }
}

async function tellStory(baseUrl: string, home: string, source: string): Promise<boolean> {
  const name = `Demo: ${basename(source)}`.slice(0, 255);
  const account = await setUpAccount(baseUrl, join(home, 'account.json'), name);
  say('account', account.email);
  const scenesDir = await unusedName(source, 'sync demo');
  const notCopied = await mirror(source, join(home, 'laptop'), DATA_DIR);
  await rm(join(home, 'phone', scenesDir), { recursive: true, force: true }); // left over from an interrupted run

  const laptop = await openDevice('laptop', home, baseUrl, account);
  const sent = await tellSync(laptop, 'uploaded');
  const skipped = [...notCopied, ...sent.leftOver];
  sayFew(
    'skipped',
    skipped.map(({ path, reason }) => `${path}: ${reason}`),
  );
  await tellWhatTheServiceSees(laptop.workspace);

  const phone = await openDevice('phone', home, baseUrl, account);
  await tellSync(phone, 'downloaded');

  for await (const [label, text] of new Scenes(laptop, phone, scenesDir).play()) say(label, text);
  const isIdentical = await tellComparison(source, laptop, phone, new Set(skipped.map(({ path }) => path)));
  for (const device of [laptop, phone]) await device.close();
  return isIdentical;
}

async function openDevice(name: string, home: string, baseUrl: string, account: Account): Promise<Device> {
  const vault = await openVault(baseUrl, account);
  return Device.open({
    name,
    home,
    vault,
    onProgress: ({ doing, path }) => showProgress(name, `${doing} ${path}`),
  });
}

/** Syncs, and prints the result: for example "12 files, 3 uploaded, 9 unchanged in 0.4 s (1.2 MB/s)". */
async function tellSync(device: Device, verb: 'uploaded' | 'downloaded'): Promise<Report> {
  const startedAt = performance.now();
  const report = await device.sync();
  const seconds = (performance.now() - startedAt) / 1_000;
  const { [verb]: moved, files, removedHere, deletedThere, conflicts } = report;
  const sizes = [...moved].map((path) => stat(join(device.root, path)).then(({ size }) => size));
  const megabytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0) / 1e6;
  const speed = megabytes > 0 ? ` (${(megabytes / seconds).toFixed(1)} MB/s)` : '';
  const counts = `${filesOf(files)}, ${number(moved.size)} ${verb}, ${number(files - moved.size)} unchanged`;
  say(device.name, `${counts} in ${seconds.toFixed(2)} s${speed}`);
  if (deletedThere.size > 0)
    say(
      device.name,
      `${number(deletedThere.size)} deleted on the service, because they were deleted in the folder`,
    );
  if (removedHere.size > 0)
    say(device.name, `${number(removedHere.size)} removed here, because another device deleted them`);
  for (const { copy } of conflicts) say(device.name, `changed on both sides, kept as ${copy}`);
  return report;
}

async function tellWhatTheServiceSees({ log }: Workspace): Promise<void> {
  const { fileCount } = await log.status();
  for await (const { files } of log.snapshot()) {
    if (!files[0]) return;
    const name = files[0].encryptedPath.slice(0, 40);
    say('service', `stores ${filesOf(fileCount)} and can read none of them; one is called ${name}`);
    return;
  }
}

async function tellComparison(
  source: string,
  laptop: Device,
  phone: Device,
  leftOut: Set<string>,
): Promise<boolean> {
  const here = await compare(laptop.root, phone.root, leftOut);
  const there = await compare(source, laptop.root, leftOut, DATA_DIR);
  const differences = [...here.differences, ...there.differences];
  sayFew('differs', differences, 10);
  if (differences.length > 0) return false;
  const amount = `${filesOf(here.files)}, ${number(here.bytes)} bytes`;
  say('compared', `laptop, phone and your folder are identical, byte for byte: ${amount}`);
  return true;
}

/** A name that does not exist in the folder yet, such as "sync demo 2". */
async function unusedName(folder: string, name: string): Promise<string> {
  const { files } = await walk(folder, DATA_DIR);
  const taken = new Set([...files.keys()].map((path) => path.split('/')[0]));
  for (let count = 1; ; count++) {
    const candidate = count === 1 ? name : `${name} ${count}`;
    if (!taken.has(candidate)) return candidate;
  }
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

main().then(
  (isIdentical) => {
    process.exitCode = isIdentical ? 0 : 1;
  },
  (error: unknown) => {
    console.error(`\n${explain(error)}`);
    process.exitCode = 1;
  },
);
