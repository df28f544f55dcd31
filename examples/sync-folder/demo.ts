import { createHash } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Vault, openVault, setUpAccount } from './account.js';
import { SyncApi } from './api.js';
import { Folder } from './folder.js';
import { compare, mirror } from './mirror.js';
import { clearProgress, explain, say, sayFew, showProgress } from './print.js';
import { type SyncReport, filesOf, number } from './report.js';
import { Scenes } from './scenes.js';
import { Service } from './service.js';
import { DeviceState } from './state.js';
import { SyncClient } from './sync-client.js';
import { walk } from './walk.js';

const DATA_DIR = resolve(process.env['DATA_DIR'] ?? 'data');
const DEMO_DIR = join(DATA_DIR, 'demo');
const OWN_DOCS = fileURLToPath(new URL('../../../docs/', import.meta.url));

/** The demo: a folder is synced from a laptop through the service to a phone, and both continue to work on it. */
async function main(): Promise<boolean> {
  const startedAt = performance.now();
  // npm changes the working directory; INIT_CWD is where it was called.
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

  const laptopsVault = await openVault(baseUrl, account);
  const laptop = await openDevice('laptop', home, laptopsVault);
  const sent = await laptop.sync();
  tell('laptop', sent.summary('uploaded'), sent);
  sayFew('skipped', [
    ...notCopied.map(({ path, reason }) => `${path}: ${reason}`),
    ...[...sent.skipped].map(([path, reason]) => `${path}: ${reason}`),
  ]);
  await tellWhatTheServiceSees(new SyncApi(laptopsVault.session, laptopsVault.workspaceId, 'onlooker'));

  const phone = await openDevice('phone', home, await openVault(baseUrl, account));
  const received = await phone.sync();
  tell('phone', received.summary('downloaded'), received);

  for await (const [name, text] of new Scenes(laptop, phone, scenesDir).play()) say(name, text);
  const leftOut = new Set([...notCopied.map(({ path }) => path), ...sent.skipped.keys()]);
  return tellComparison(source, laptop.root, phone.root, leftOut);
}

async function openDevice(name: string, home: string, vault: Vault): Promise<SyncClient> {
  const own = join(home, `${name}.sync`);
  const state = await DeviceState.open(join(own, 'state.json'), vault.workspaceId, name);
  const folder = await Folder.open(join(home, name), join(own, 'half-written'), state.files.size === 0);
  const api = new SyncApi(vault.session, vault.workspaceId, state.deviceId);
  const onProgress = (doing: string, done: number, total: number): void =>
    showProgress(name, `${doing} ${done} of ${total}`);
  return new SyncClient({ name, folder, state, api, keys: vault.keys, onProgress });
}

function tell(label: string, summary: string, report: SyncReport): void {
  say(label, summary);
  const { removed, deleted, conflicts } = report;
  if (deleted.size > 0)
    say(label, `${number(deleted.size)} deleted on the service, because they were deleted in the folder`);
  if (removed.size > 0)
    say(label, `${number(removed.size)} removed here, because another device deleted them`);
  for (const path of conflicts) say(label, `changed on both sides, kept as ${path}`);
}

async function tellWhatTheServiceSees(api: SyncApi): Promise<void> {
  const [{ fileCount }, { files }] = [await api.status(), await api.snapshot(null)];
  if (!files[0]) return;
  const name = files[0].encryptedPath.slice(0, 40);
  say('service', `stores ${filesOf(fileCount)} and can read none of them; one is called ${name}`);
}

async function tellComparison(
  source: string,
  laptop: string,
  phone: string,
  leftOut: Set<string>,
): Promise<boolean> {
  const here = await compare(laptop, phone, leftOut);
  const there = await compare(source, laptop, leftOut, DATA_DIR);
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
  const taken = new Set(files.map(({ path }) => path.split('/')[0]));
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
