import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type supertest from 'supertest';
import { openVault, setUpAccount, type Vault } from '../../examples/sync-folder/account.js';
import { SyncApi } from '../../examples/sync-folder/api.js';
import { Folder } from '../../examples/sync-folder/folder.js';
import { DeviceState } from '../../examples/sync-folder/state.js';
import { SyncClient } from '../../examples/sync-folder/sync-client.js';
import { walk } from '../../examples/sync-folder/walk.js';
import { automationPath, type ListedNote, urlPath } from '../kit/automation.js';
import { startService, type TestService, TestSocket, TestUser } from '../kit/index.js';
import { expectDenseLogs, expectReplayLaw } from '../kit/oracles.js';
import { TestWorkspace } from '../kit/workspace.js';

const NOTES = 300;
const AT_ONCE = 8;

/** Spaces, other scripts, signs, and every tenth path 200 characters long. */
function notes(folder: string): Map<string, string> {
  const names = [
    'plain',
    'with spaces in it',
    'Grüße – “quoted” (1)',
    '日本語 メモ',
    'emoji 🚀',
    '100% #1 a+b&c=d',
    'שלום',
    '.hidden',
  ];
  return new Map(
    Array.from({ length: NOTES }, (_, i) => {
      const path = `${folder}/${i % 7}/${names[i % names.length]} ${i}`;
      const padded = i % 10 === 0 ? `${path} ${'long '.repeat(40)}`.slice(0, 196).padEnd(197, '.') : path;
      return [`${padded}.md`, i % 50 === 0 ? '' : `# Note ${i}\r\n\n${'Zeile – 行 🎈\n'.repeat(i)}`];
    }),
  );
}

let service: TestService;
let home: string;
let vault: Vault;
let workspace: TestWorkspace;
let keySession: string;
beforeAll(async () => {
  service = await startService({ isAtBaseUrl: true, env: { LOG_LEVEL: 'silent' } });
  home = await mkdtemp(join(tmpdir(), 'sync-interop-'));
  const account = await setUpAccount(service.url, join(home, 'account.json'), 'interop');
  vault = await openVault(service.url, account);
  const user = await TestUser.logIn(service.url, account.email.split('@')[0]!, account.email);
  workspace = new TestWorkspace(user, vault.workspaceId);
  const opened = await user
    .post(`${automationPath(workspace.id)}/key-sessions`)
    .send({ password: account.vaultPassword });
  expect(opened.status).toBe(201);
  keySession = opened.body.keySession;
});
afterAll(async () => {
  await service.close();
  await rm(home, { recursive: true, force: true });
});

async function device(name: string): Promise<SyncClient> {
  const state = await DeviceState.open(join(home, `${name}.sync`, 'state.json'), vault.workspaceId, name);
  const folder = await Folder.open(join(home, name), join(home, `${name}.sync`, 'half-written'), true);
  const api = new SyncApi(vault.session, vault.workspaceId, state.deviceId);
  return new SyncClient({ name, folder, state, api, keys: vault.keys, onProgress: () => undefined });
}

type Method = 'get' | 'post' | 'put' | 'delete';

async function call(method: Method, path: string, body?: object): Promise<supertest.Response> {
  const request = workspace.user
    .request(method, `${automationPath(workspace.id)}${path}`)
    .set('X-Key-Session', keySession);
  return body ? request.send(body) : request;
}

async function each<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = iterator.next(); !next.done; next = iterator.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function put(folder: string, path: string, content: string): Promise<void> {
  const file = join(home, folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
}

async function filesIn(folder: string): Promise<Map<string, string>> {
  const { files } = await walk(join(home, folder));
  const read = files.map(async ({ path, onDisk }) => [path, await readFile(onDisk, 'utf8')] as const);
  return new Map((await Promise.all(read)).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const sorted = (map: Map<string, string>): [string, string][] =>
  [...map].sort(([a], [b]) => (a < b ? -1 : 1));

describe(`${NOTES} notes each way between the demo client and the Automation API`, () => {
  const written = notes('by a device');
  const made = notes('by a robot');
  let laptop: SyncClient;

  it('uploads of the client are readable here', async () => {
    for (const [path, content] of written) await put('laptop', path, content);
    laptop = await device('laptop');
    await laptop.sync();
    const read = new Map<string, string>();
    await each(written.keys(), async (path) => {
      const { status, body } = await call('get', `/notes/${urlPath(path)}`);
      expect({ path, status }).toEqual({ path, status: 200 });
      read.set(body.path, body.content);
    });
    expect(sorted(read)).toEqual(sorted(written));
    const listed: ListedNote[] = (await call('get', '/notes?limit=1000')).body.notes;
    const sizes = listed.map(({ path, size }) => [path, size] as const);
    expect(new Map(sizes)).toEqual(
      new Map([...written].map(([path, text]) => [path, Buffer.byteLength(text)])),
    );
  });

  it('notes made here reach the client', async () => {
    await each(made, async ([path, content]) => {
      expect((await call('post', '/notes', { path, content })).status).toBe(201);
    });
    await laptop.sync();
    const phone = await device('phone');
    await phone.sync();
    const everything = sorted(new Map([...written, ...made]));
    expect(sorted(await filesIn('laptop'))).toEqual(everything);
    expect(sorted(await filesIn('phone'))).toEqual(everything);
  });

  it('each write is one version and one change, and the log keeps its law', async () => {
    expect((await workspace.status()).cursor).toBe(2 * NOTES);
    await expectDenseLogs(service.database);
    await expectReplayLaw(workspace);
  });

  it('edits, deletions and renames travel both ways, and the sockets are told', async () => {
    const [edited, removed, other] = [...written.keys()] as [string, string, string];
    const socket = await TestSocket.join(workspace, 'listener');
    expect((await call('put', `/notes/${urlPath(edited)}`, { content: 'by the robot' })).status).toBe(200);
    expect((await call('delete', `/notes/${urlPath(removed)}`)).status).toBe(200);
    await socket.frame('changes');
    await laptop.sync();
    const files = await filesIn('laptop');
    expect([files.get(edited), files.has(removed)]).toEqual(['by the robot', false]);

    await put('laptop', edited, 'by the laptop');
    await rm(join(home, 'laptop', other));
    await laptop.sync();
    expect((await call('get', `/notes/${urlPath(edited)}`)).body).toMatchObject({
      content: 'by the laptop',
      version: 3,
    });
    expect((await call('get', `/notes/${urlPath(other)}`)).status).toBe(404);
    await socket.close();
  });

  it('two concurrent edits are both kept by the client, because its upload is refused like any other’s', async () => {
    const path = [...written.keys()][5]!;
    await put('laptop', path, 'edited on the laptop');
    expect((await call('put', `/notes/${urlPath(path)}`, { content: 'edited by the robot' })).status).toBe(
      200,
    );
    await laptop.sync();
    const texts = [...(await filesIn('laptop')).values()];
    expect(texts).toContain('edited on the laptop');
    expect(texts).toContain('edited by the robot');
    await expectReplayLaw(workspace);
  });

  it('a checkpoint made here restores the client', async () => {
    const path = [...made.keys()][3]!;
    const { body } = await call('post', '/checkpoints', { label: 'vor dem Umbau' });
    expect((await call('put', `/notes/${urlPath(path)}`, { content: 'spoilt' })).status).toBe(200);
    await laptop.sync();
    expect((await laptop.checkpoints()).get(body.id)).toBe('vor dem Umbau');
    await laptop.restore(body.id, await laptop.planRestore(body.id));
    expect((await filesIn('laptop')).get(path)).toBe(made.get(path));
    expect((await call('get', `/notes/${urlPath(path)}`)).body.content).toBe(made.get(path));
  });
});
