import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type supertest from 'supertest';
import { Session, Vault, VaultHistory, Workspace } from '../../../client/src/core/index.js';
import { NodeStateFile, pastFilesOf, RestoreRecord } from '../../../client/src/folder/index.js';
import { FolderDevice } from '../../kit/folder-device.js';
import { automationPath, type ListedNote, urlPath } from '../../kit/automation.js';
import { startService, type TestService, TestSocket } from '../../kit/index.js';
import { expectDenseLogs, expectReplayLaw } from '../../kit/oracles.js';
import { TestWorkspace } from '../../kit/workspace.js';
import { rounds } from '../../kit/rounds.js';

const NOTES = rounds(10, 300);
const AT_ONCE = 8;
const PASSWORD = 'the password of the vault';

/** Paths have spaces, other scripts and symbols, and every tenth has 200 characters. */
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
let session: Session;
let vault: Vault;
let workspace: TestWorkspace;
let keySession: string;
beforeAll(async () => {
  service = await startService({ isAtBaseUrl: true, env: { LOG_LEVEL: 'silent' } });
  home = await mkdtemp(join(tmpdir(), 'sync-interop-'));
  const user = await service.user('interop');
  session = Session.withAccessToken(service.url, user.token);
  vault = await Vault.create(session, 'interop', PASSWORD);
  workspace = new TestWorkspace(user, vault.workspaceId);
  const opened = await user.post(`${automationPath(workspace.id)}/key-sessions`).send({ password: PASSWORD });
  expect(opened.status).toBe(201);
  keySession = opened.body.keySession;
});
afterAll(async () => {
  await service.close();
  await rm(home, { recursive: true, force: true });
});

const device = (name: string): FolderDevice =>
  new FolderDevice(name, home, { session, workspaceId: workspace.id, keys: vault.keys });

async function restore(on: FolderDevice, checkpointId: string): Promise<void> {
  const history = new VaultHistory(new Workspace(session, workspace.id, 'history'), vault.keys);
  const { files } = await history.stateAtCheckpoint(checkpointId);
  const file = new NodeStateFile(join(on.state, 'restore'));
  const record = await RestoreRecord.open(file, checkpointId);
  await on.opened(async (folder) => {
    await folder.restore(pastFilesOf(files, history, Infinity), record);
    await folder.sync();
  });
  await file.close();
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

const sorted = (map: Map<string, string>): [string, string][] =>
  [...map].sort(([a], [b]) => (a < b ? -1 : 1));

describe(`${NOTES} notes each way between a folder that syncs and the Automation API`, () => {
  const written = notes('by a device');
  const made = notes('by a robot');
  const laptop = (): FolderDevice => device('laptop');

  it('uploads of the client are readable over the API', async () => {
    for (const [path, content] of written) await put('laptop', path, content);
    await laptop().sync();
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

  it('notes created over the API reach the client', async () => {
    await each(made, async ([path, content]) => {
      expect((await call('post', '/notes', { path, content })).status).toBe(201);
    });
    await laptop().sync();
    const phone = device('phone');
    await phone.sync();
    const everything = sorted(new Map([...written, ...made]));
    expect(sorted(await laptop().files())).toEqual(everything);
    expect(sorted(await phone.files())).toEqual(everything);
  });

  it('each write is one version and one change, and the log replays to the listing', async () => {
    expect((await workspace.status()).cursor).toBe(2 * NOTES);
    await expectDenseLogs(service.database);
    await expectReplayLaw(workspace);
  });

  it('edits and deletions travel both ways, and sockets are notified', async () => {
    const [edited, removed, other] = [...written.keys()] as [string, string, string];
    const socket = await TestSocket.join(workspace, 'listener');
    expect((await call('put', `/notes/${urlPath(edited)}`, { content: 'by the robot' })).status).toBe(200);
    expect((await call('delete', `/notes/${urlPath(removed)}`)).status).toBe(200);
    await socket.frame('changes');
    await laptop().sync();
    const files = await laptop().files();
    expect([files.get(edited), files.has(removed)]).toEqual(['by the robot', false]);

    await put('laptop', edited, 'by the laptop');
    await rm(join(home, 'laptop', other));
    await laptop().sync();
    expect((await call('get', `/notes/${urlPath(edited)}`)).body).toMatchObject({
      content: 'by the laptop',
      version: 3,
    });
    expect((await call('get', `/notes/${urlPath(other)}`)).status).toBe(404);
    await socket.close();
  });

  it('two concurrent edits are both kept by the client, because its upload is refused', async () => {
    const path = [...written.keys()][5]!;
    await put('laptop', path, 'edited on the laptop');
    expect((await call('put', `/notes/${urlPath(path)}`, { content: 'edited by the robot' })).status).toBe(
      200,
    );
    await laptop().sync();
    const texts = [...(await laptop().files()).values()];
    expect(texts).toContain('edited on the laptop');
    expect(texts).toContain('edited by the robot');
    await expectReplayLaw(workspace);
  });

  it('a checkpoint created over the API restores the client', async () => {
    const path = [...made.keys()][3]!;
    const { body } = await call('post', '/checkpoints', { label: 'vor dem Umbau' });
    expect((await call('put', `/notes/${urlPath(path)}`, { content: 'spoilt' })).status).toBe(200);
    await laptop().sync();
    const history = new VaultHistory(new Workspace(session, workspace.id, 'history'), vault.keys);
    expect((await history.checkpoints()).map(({ id, label }) => [id, label])).toEqual([
      [body.id, 'vor dem Umbau'],
    ]);
    await restore(laptop(), body.id);
    expect((await laptop().files()).get(path)).toBe(made.get(path));
    expect((await call('get', `/notes/${urlPath(path)}`)).body.content).toBe(made.get(path));
  });
});
