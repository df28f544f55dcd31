import { randomBytes } from 'node:crypto';
import fs, { readdir } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { GIVE_UP_AFTER_MS } from '../../kit/eventually.js';
import { Subscriptions } from '../../../src/domain/billing/index.js';
import { Configuration } from '../../../src/platform/config/index.js';
import { InFlightRequests } from '../../../src/platform/http/index.js';
import { FreeSpace } from '../../../src/platform/storage/index.js';
import { TestAssets } from '../../kit/assets.js';
import { TestVault } from '../../kit/automation.js';
import { Exposition } from '../../kit/exposition.js';
import {
  eventually,
  sha256,
  startService,
  stopIntervals,
  type TestService,
  type TestWorkspace,
} from '../../kit/index.js';
import { holdRow } from '../../kit/hold.js';
import { earlyAnswer, headOf, openSocket, unfinishedUpload } from '../../kit/raw-http.js';
import { SmallDisk, whyNoDisk } from '../../kit/small-disk.js';

const MIB = 1024 ** 2;
const FULL = { error: 'the service has no disk space for uploads' };

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

/** Sets a reserve that no disk has free. */
async function runOutOfSpace({ app }: TestService): Promise<void> {
  Object.assign(app.get(Configuration), { minFreeBytes: 2 ** 52 });
  await app.get(FreeSpace).look();
}

/** An upload of which only the header has been sent. */
function begunUpload({ url }: TestService, workspace: TestWorkspace, path: string): Socket {
  const socket = openSocket(url);
  const Authorization = `Bearer ${workspace.user.token}`;
  const headers = { Host: 'x', Authorization, 'X-Content-Hash': sha256(''), 'X-Device-Id': 'slow' };
  socket.write(headOf('PUT', workspace.file(path), { ...headers, 'Content-Length': String(50 * MIB) }));
  return socket;
}

const storedFiles = async (dataDir: string): Promise<string[]> =>
  (await readdir(join(dataDir, 'blobs'), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name !== 'store-id')
    .map(({ name }) => name);

describe('a disk with less than MIN_FREE_BYTES', () => {
  it('takes no file, asset, note or checkpoint; other requests succeed, and it stays ready', () =>
    inService({ MIN_FREE_BYTES: String(2 ** 52) }, async (service, workspace) => {
      const vault = await TestVault.setUp(workspace);
      const refused = [
        await workspace.put('YQ', 'a'),
        await workspace.put('YQ', randomBytes(100_000)),
        await workspace.put('YQ', ''),
        await TestAssets.of(workspace).create('token'),
        await vault.create('note.md', 'text'),
        await vault.create('note.md', ''),
        await vault.update('note.md', 'text'),
        await workspace.user
          .post(`${workspace.path}/checkpoints`)
          .send({ encryptedLabel: 'YQ', kind: 'auto' }),
        await vault.request('post', '/checkpoints').send({ label: 'label' }),
      ];
      for (const { status, body, headers } of refused)
        expect([status, body, headers['retry-after']]).toEqual([503, FULL, '60']);
      await workspace.push(0, ['YQ']).expect(200);
      await workspace.pull(0).expect(200);
      await workspace.user.get('/health/ready').expect(200);
      for (const table of ['blobs', 'files', 'checkpoints'])
        expect(await service.database.query(`SELECT FROM ${table}`)).toEqual([]);
      expect(service.logged().match(/uploads are refused/g)).toHaveLength(1);
    }));

  it('refuses an upload before its body is read', () =>
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

  it('ends uploads in flight at their next chunk, even when all of them send one at once after a pause', () =>
    inService({ MIN_FREE_BYTES: '1' }, async (service, workspace) => {
      stopIntervals(service);
      const space = service.app.get(FreeSpace);
      const sockets = Array.from({ length: 40 }, (_, at) => begunUpload(service, workspace, `file-${at}`));
      const { waiting } = service.app.get(InFlightRequests);
      await eventually(() => expect([waiting.unsentBodies, space.takenBytes]).toEqual([40, 0]));
      await runOutOfSpace(service);
      for (const burst of [sockets.slice(0, 20), sockets.slice(20)]) {
        await pause(300); // the last measurement is then too old to refuse anything
        for (const socket of burst) socket.write(Buffer.alloc(64 * 1024));
        const answers = burst.map((socket) =>
          Promise.race([
            earlyAnswer(socket).then(({ status }) => status),
            pause(GIVE_UP_AFTER_MS, 'none', { ref: false }),
          ]),
        );
        expect(new Set(await Promise.all(answers))).toEqual(new Set([503]));
      }
      for (const socket of sockets) socket.destroy();
    }));

  it('is not revealed to a caller who has lost access meanwhile', () =>
    inService({ MIN_FREE_BYTES: '1' }, async (service, workspace) => {
      const other = await workspace.user.workspace('other');
      for (const one of [workspace, other]) await one.put('YQ', 'a').expect(201);
      await runOutOfSpace(service);
      await workspace.put('YQ', 'b').expect(503);
      await workspace.user.delete(workspace.path).expect(200);
      await workspace.put('YQ', 'b').expect(404);
      await service.app.get(Subscriptions).grant(workspace.user.id, 'cancelled', null);
      await other.put('YQ', 'b').expect(402);
    }));

  it('takes everything with MIN_FREE_BYTES=0', () =>
    inService({ MIN_FREE_BYTES: '0' }, async (_, workspace) => {
      await workspace.put('YQ', 'a').expect(201);
    }));
});

describe('incoming bytes', () => {
  it('are counted until their rows are written, however the upload ends, and not while the client is silent', () =>
    inService({}, async (service, workspace) => {
      const space = service.app.get(FreeSpace);
      const { waiting } = service.app.get(InFlightRequests);
      const socket = unfinishedUpload(service.url, workspace, 'Yg');
      await eventually(() => expect([waiting.unsentBodies, space.takenBytes]).toEqual([1, 0]));
      const held = await holdRow(service.database, 'workspaces', 'id', workspace.id);
      const small = workspace.put('Yw', randomBytes(50_000)).expect(201);
      const ended = small.then(() => undefined);
      await held.waiting(1);
      expect(space.takenBytes).toBe(32 * 1024 + 50_000);
      await held.release();
      await ended;
      socket.destroy();
      await eventually(() => expect([waiting.size, space.takenBytes]).toEqual([0, 0]));
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

describe('a file system that reports no size', () => {
  it('never counts as full: uploads are accepted, readiness stays, and no alert has a figure', async () => {
    const { statfs } = fs;
    Object.assign(fs, {
      statfs: async (path: string) => Object.assign(await statfs(path), { blocks: 0, bfree: 0, bavail: 0 }),
    });
    syncBuiltinESMExports();
    try {
      await inService({ METRICS_PORT: '0' }, async (service, workspace) => {
        await workspace.put('YQ', randomBytes(100_000)).expect(201);
        await workspace.user.get('/health/ready').expect(200);
        const exposition = await Exposition.of(service);
        expect(exposition.value('cloud_sync_data_dir_free_bytes')).toBeUndefined();
        expect(exposition.value('cloud_sync_disk_reserve_bytes')).toBe(0);
      });
    } finally {
      Object.assign(fs, { statfs });
      syncBuiltinESMExports();
    }
  });
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

    it('keeps the reserve during forty concurrent uploads of twice the room', () =>
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

    it('has room for an upload while others are declared and never sent', () =>
      inService(onDisk(disk), async (service, workspace) => {
        const sockets = Array.from({ length: 20 }, () => openSocket(service.url));
        for (const socket of sockets)
          socket.write(
            `PUT ${workspace.file('Yg')} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${workspace.user.token}\r\n` +
              `X-Device-Id: slow\r\nX-Content-Hash: ${sha256('')}\r\nContent-Length: ${50 * MIB}\r\n\r\n`,
          );
        const { waiting } = service.app.get(InFlightRequests);
        await eventually(() => expect(waiting.unsentBodies).toBe(20));
        expect(service.app.get(FreeSpace).takenBytes).toBe(0);
        await workspace.put('YQ', randomBytes(4 * MIB)).expect(201);
        for (const socket of sockets) socket.destroy();
      }));
  },
);
