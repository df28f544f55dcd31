import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FreeSpace } from '../../src/platform/blobs/index.js';
import { TestAssets } from '../kit/assets.js';
import { TestVault } from '../kit/automation.js';
import { eventually, sha256, startService, type TestService, type TestWorkspace } from '../kit/index.js';
import { earlyAnswer, headOf, openSocket, unfinishedUpload } from '../kit/raw-http.js';
import { SmallDisk, whyNoDisk } from '../kit/small-disk.js';

const MIB = 1024 ** 2;
const FULL = { error: 'the service has no room for uploads' };

async function inService(
  env: Record<string, string>,
  use: (service: TestService, workspace: TestWorkspace) => Promise<void>,
): Promise<void> {
  const service = await startService({ env });
  try {
    await use(service, await (await service.user('alice')).workspace());
  } finally {
    await service.close();
  }
}

const storedFiles = async (dataDir: string): Promise<string[]> =>
  (await readdir(join(dataDir, 'blobs'), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name !== 'store-id')
    .map(({ name }) => name);

describe('a disk with less than MIN_FREE_BYTES', () => {
  it('takes no file, asset or note; the rest goes on, and readiness stays', () =>
    inService({ MIN_FREE_BYTES: String(2 ** 52) }, async (service, workspace) => {
      const vault = await TestVault.setUp(workspace);
      const refused = [
        await workspace.put('YQ', 'a'),
        await workspace.put('YQ', randomBytes(100_000)),
        await TestAssets.of(workspace).create('token'),
        await vault.create('note.md', 'text'),
        await vault.update('note.md', 'text'),
      ];
      for (const { status, body, headers } of refused)
        expect([status, body, headers['retry-after']]).toEqual([503, FULL, '60']);
      await workspace.checkpoint();
      await workspace.push(0, ['YQ']).expect(200);
      await workspace.pull(0).expect(200);
      await workspace.user.get('/health/ready').expect(200);
      expect(await service.database.query('SELECT FROM blobs')).toEqual([]);
      expect(service.logged().match(/uploads are refused/g)).toHaveLength(1);
    }));

  it('refuses before a body is read', () =>
    inService({ MIN_FREE_BYTES: String(2 ** 52) }, async (service, workspace) => {
      const vault = await TestVault.setUp(workspace);
      const keys = { 'X-Key-Session': vault.keySession, 'X-Workspace-Id': workspace.id };
      const file = { 'X-Device-Id': 'laptop', 'X-Content-Hash': sha256('never sent') };
      for (const [method, path] of [
        ['PUT', workspace.file('YQ')],
        ['POST', '/api/assets'],
        ['POST', `${vault.path}/notes`],
      ] as const) {
        const socket = openSocket(service.url);
        const headers = { Host: 'x', Authorization: `Bearer ${workspace.user.token}`, ...keys, ...file };
        socket.write(headOf(method, path, { ...headers, 'Content-Length': '1000' }));
        expect((await earlyAnswer(socket)).status).toBe(503);
        socket.destroy();
      }
    }));

  it('takes everything with MIN_FREE_BYTES=0', () =>
    inService({ MIN_FREE_BYTES: '0' }, async (_, workspace) => {
      await workspace.put('YQ', 'a').expect(201);
    }));
});

describe('what is being taken in', () => {
  it('is counted from its first byte to its end, however it ends', () =>
    inService({}, async (service, workspace) => {
      const space = service.app.get(FreeSpace);
      const socket = unfinishedUpload(service.url, workspace, 'Yg');
      await eventually(() => expect(space.takenBytes).toBeGreaterThan(64 * 1024));
      socket.destroy();
      await eventually(() => expect(space.takenBytes).toBe(0));
      await workspace.put('YQ', 'a').expect(201);
      await workspace.put('YQ', randomBytes(100_000)).expect(200);
      await workspace.put('YQ', 'b').set('X-Content-Hash', sha256('c')).expect(400);
      await TestAssets.of(workspace).create('token').expect(201);
      await TestAssets.of(workspace).create('token').expect(409);
      const vault = await TestVault.setUp(workspace);
      await vault.create('note.md', 'text').expect(201);
      await vault.create('note.md', 'text').expect(409);
      expect(space.takenBytes).toBe(0);
    }));
});

const onDisk = ({ path }: SmallDisk): Record<string, string> => ({
  AUTH_SECRET: 'a-secret-of-thirty-two-characters',
  DATA_DIR: path,
  MIN_FREE_BYTES: String(32 * MIB),
});

const reason = whyNoDisk();

(reason ? describe.skip : describe)(
  `a disk of 96 MB with a reserve of 32${reason ? `; ${reason}` : ''}`,
  () => {
    let disk: SmallDisk;
    beforeEach(() => (disk = SmallDisk.mount(96)));
    afterEach(() => disk.unmount());

    it('keeps it under forty uploads at once that have twice the room there is', () =>
      inService(onDisk(disk), async (service, workspace) => {
        const upload = async (at: number): Promise<number> =>
          (await workspace.put(`file-${at}`, randomBytes(3 * MIB))).status;
        let answers: number[] = [];
        const lowest = await disk.lowestDuring(async () => {
          answers = await Promise.all(Array.from({ length: 40 }, (_, at) => upload(at)));
        });
        expect(answers.filter((status) => status !== 201 && status !== 503)).toEqual([]);
        expect(answers).toContain(503);
        expect(lowest).toBeGreaterThan(31 * MIB);
        const taken = answers.filter((status) => status === 201).length;
        await eventually(async () => expect(await storedFiles(disk.path)).toHaveLength(taken));
        expect((await workspace.list()).length).toBe(taken);
        expect(service.app.get(FreeSpace).takenBytes).toBe(0);
      }));

    it('is not taken up by uploads that are declared and never sent', () =>
      inService(onDisk(disk), async (service, workspace) => {
        const sockets = Array.from({ length: 20 }, () => openSocket(service.url));
        for (const socket of sockets)
          socket.write(
            `PUT ${workspace.file('Yg')} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${workspace.user.token}\r\n` +
              `X-Device-Id: slow\r\nX-Content-Hash: ${sha256('')}\r\nContent-Length: ${50 * MIB}\r\n\r\n`,
          );
        await eventually(() =>
          expect(service.app.get(FreeSpace).takenBytes).toBeGreaterThan(20 * 32 * 1024 - 1),
        );
        await workspace.put('YQ', randomBytes(4 * MIB)).expect(201);
        for (const socket of sockets) socket.destroy();
      }));
  },
);
