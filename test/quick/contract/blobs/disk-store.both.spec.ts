import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import {
  type FileHandle,
  mkdir,
  mkdtemp,
  open,
  readdir,
  rename,
  rm,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { Configuration } from '../../../../src/platform/config/index.js';
import {
  BlobMissing,
  BlobStores,
  OutcomeUnknown,
  StoreUnavailable,
} from '../../../../src/platform/storage/blob-store.js';
import { BlobEntity } from '../../../../src/platform/storage/storage.entities.js';
import { BlobSweeper } from '../../../../src/platform/storage/blob-sweeper.js';
import { Blobs } from '../../../../src/platform/storage/blobs.js';
import { DiskBlobStore } from '../../../../src/platform/storage/disk-blob-store.js';
import { Clock } from '../../../../src/platform/clock.js';
import { Database } from '../../../../src/platform/database/index.js';
import { InFlightRequests, ServiceUnavailable } from '../../../../src/platform/http/index.js';
import { Log } from '../../../../src/platform/log.js';
import { WorkspacePurge } from '../../../../src/domain/workspaces/workspace-purge.js';
import { assetToken, envelope, TestAssets } from '../../../kit/assets.js';
import { footprint, NOTHING } from '../../../kit/footprint.js';
import { eventually, startService, type TestService, type TestWorkspace } from '../../../kit/index.js';
import { headOf, openSocket, received } from '../../../kit/raw-http.js';
import { itDeep } from '../../../kit/rounds.js';

const MINUTE = 60_000;

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sync-store-'));
});
afterAll(() => rm(home, { recursive: true }));

interface Key {
  readonly workspace: string;
  readonly blob: string;
  readonly key: string;
}

function keyIn(workspace: string = randomUUID(), blob: string = randomUUID()): Key {
  return { workspace, blob, key: `${workspace}/${blob}` };
}

function pathIn(root: string, { workspace, blob }: Key): string {
  return join(root, workspace, blob.slice(-2), blob);
}

async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 10_000)
    yield await Promise.resolve(bytes.subarray(at, at + 10_000));
}

/** Records every fsync of this process by its path (Linux), and can delay those of one path. */
class Syncs {
  readonly begun: string[] = [];
  readonly done: string[] = [];
  private held: { path: string; until: Promise<void> } | undefined;

  static async watch(work: (syncs: Syncs) => Promise<void>): Promise<void> {
    const prototype = (await fileHandles()) as FileHandle;
    const sync = Reflect.get<FileHandle, 'sync'>(prototype, 'sync');
    const syncs = new Syncs();
    prototype.sync = async function (this: FileHandle) {
      const path = readlinkSync(`/proc/self/fd/${this.fd}`);
      syncs.begun.push(path);
      if (syncs.held?.path === path) await syncs.held.until;
      await sync.call(this);
      syncs.done.push(path);
    };
    try {
      await work(syncs);
    } finally {
      prototype.sync = sync;
    }
  }

  /** @returns a function that ends the delay */
  hold(path: string): () => void {
    let release = (): void => undefined;
    const until = new Promise<void>((resolve) => (release = resolve));
    this.held = { path, until };
    return release;
  }
}

describe('the names that an upload needs are durable before it is acknowledged', () => {
  it('including the root, the directories made above it, and the entry directly above DATA_DIR', async () => {
    await Syncs.watch(async ({ done }) => {
      const dataDir = join(home, 'new', 'data');
      await DiskBlobStore.open(join(dataDir, 'blobs'));
      expect(done).toEqual(expect.arrayContaining([join(dataDir, 'blobs'), dataDir, dirname(dataDir), home]));

      done.length = 0;
      await DiskBlobStore.open(join(dataDir, 'blobs')); // a start that made it may have crashed right after
      expect(done).toEqual(expect.arrayContaining([join(dataDir, 'blobs'), dataDir, dirname(dataDir)]));
    });
  });

  it('including directories that a crash or another instance has left unsynced', async () => {
    const root = join(home, randomUUID());
    const store = await DiskBlobStore.open(root);
    const key = keyIn();
    const directory = dirname(pathIn(root, key));
    await mkdir(directory, { recursive: true });
    await Syncs.watch(async ({ done }) => {
      await store.put(key.key, chunksOf(Buffer.from('x')));
      expect(done).toEqual(expect.arrayContaining([directory, dirname(directory), root]));
    });
  });

  it('including directories that another upload has just made: both await one sync', async () => {
    const root = join(home, randomUUID());
    const store = await DiskBlobStore.open(root);
    const one = keyIn();
    const two = keyIn(one.workspace, randomUUID().slice(0, -2) + one.blob.slice(-2));
    await Syncs.watch(async (syncs) => {
      const release = syncs.hold(root);
      let acknowledged = 0;
      const puts = [one, two].map(({ key }) =>
        store.put(key, chunksOf(Buffer.from('x'))).then(() => acknowledged++),
      );
      await expectStill(() => acknowledged === 0);
      release();
      await Promise.all(puts);
      expect(syncs.begun.filter((path) => path === root)).toHaveLength(1);

      syncs.begun.length = 0;
      await store.put(
        keyIn(one.workspace, randomUUID().slice(0, -2) + one.blob.slice(-2)).key,
        chunksOf(Buffer.from('x')),
      );
      expect(syncs.begun).not.toContain(root);
    });
  });

  it('including directories that were removed and made again', async () => {
    const root = join(home, randomUUID());
    const store = await DiskBlobStore.open(root);
    const key = keyIn();
    await store.put(key.key, chunksOf(Buffer.from('x')));
    await store.delete(key.key);
    await store.tidy(key.workspace);
    expect(await readdir(root)).toEqual([]);
    await Syncs.watch(async ({ done }) => {
      await store.put(keyIn(key.workspace, key.blob).key, chunksOf(Buffer.from('x')));
      expect(done).toEqual(expect.arrayContaining([root, join(root, key.workspace)]));
    });
  });
});

describe('opening', () => {
  it.each<['writeFile' | 'sync', string]>([
    ['writeFile', 'EROFS'],
    ['sync', 'EIO'],
  ])('tries to write, and fails when %s does, without leaving a file', async (method, code) => {
    const root = join(home, randomUUID());
    await mkdir(root);
    const prototype = (await fileHandles()) as Record<string, unknown>;
    const works = prototype[method];
    prototype[method] = () => Promise.reject(Object.assign(new Error(code), { code }));
    try {
      await expect(DiskBlobStore.open(root)).rejects.toMatchObject({ code });
    } finally {
      prototype[method] = works;
    }
    expect(await readdir(root)).toEqual([]);
    await DiskBlobStore.open(root);
    expect(await readdir(root)).toEqual([]);
  });
});

describe('another directory in the place of the opened one, as after an unmount', () => {
  let root: string;
  let store: DiskBlobStore;
  let kept: Key;
  beforeEach(async () => {
    root = join(home, randomUUID());
    store = await DiskBlobStore.open(root);
    kept = keyIn();
    await store.put(kept.key, chunksOf(Buffer.from('kept')));
  });

  async function unmount(): Promise<void> {
    await rename(root, `${root}-away`);
    await mkdir(root);
  }

  async function mount(): Promise<void> {
    await rm(root, { recursive: true });
    await rename(`${root}-away`, root);
  }

  const expectUntouched = async (): Promise<void> => expect(await readdir(root)).toEqual([]);

  it('gets no blob and loses none; the store works again once its own directory is back', async () => {
    await unmount();
    const { key } = keyIn();
    await expect(store.put(key, chunksOf(Buffer.from('x')))).rejects.toBeInstanceOf(StoreUnavailable);
    for (const look of [store.read(kept.key, 4), store.sizeOf(kept.key), store.delete(kept.key)])
      await expect(look).rejects.toBeInstanceOf(StoreUnavailable);
    await expectUntouched();
    await mount();
    await store.put(key, chunksOf(Buffer.from('x')));
    expect(await buffer(await store.read(kept.key, 4))).toEqual(Buffer.from('kept'));
  });

  it('is not created when there is none', async () => {
    await rename(root, `${root}-away`);
    const put = store.put(keyIn().key, chunksOf(Buffer.from('x')));
    await expect(put).rejects.toBeInstanceOf(StoreUnavailable);
    await mkdir(root);
    await mount();
  });

  it('is noticed before an upload that began in the other one is acknowledged', async () => {
    const key = keyIn();
    await Syncs.watch(async (syncs) => {
      const directory = dirname(pathIn(root, key));
      const release = syncs.hold(directory);
      const put = store.put(key.key, chunksOf(Buffer.from('x')));
      const refused = expect(put).rejects.toBeInstanceOf(OutcomeUnknown);
      await eventually(() => expect(syncs.begun).toContain(directory));
      await unmount();
      release();
      await refused;
    });
    await expectUntouched();
    await mount();
    await store.delete(key.key);
    expect(await store.sizeOf(key.key)).toBeUndefined();
  });
});

describe('reading', () => {
  const content = randomBytes(300_000);
  let root: string;
  let store: DiskBlobStore;
  let key: Key;
  beforeEach(async () => {
    root = join(home, randomUUID());
    store = await DiskBlobStore.open(root);
    key = keyIn();
    await store.put(key.key, chunksOf(content));
  });

  it.each([
    ['all', undefined],
    ['the first byte', { start: 0, end: 0 }],
    ['the last byte', { start: 299_999, end: 299_999 }],
    ['across chunks', { start: 65_535, end: 131_073 }],
  ])('yields exactly the requested bytes: %s', async (_, range) => {
    const expected = range ? content.subarray(range.start, range.end + 1) : content;
    expect((await buffer(await store.read(key.key, content.length, range))).equals(expected)).toBe(true);
  });

  it('yields nothing for an empty blob', async () => {
    const empty = keyIn();
    await store.put(empty.key, chunksOf(Buffer.alloc(0)));
    expect(await buffer(await store.read(empty.key, 0))).toHaveLength(0);
  });

  it.each([0, 299_999, 300_001])(
    'fails at once with BlobMissing for %d bytes where the row has 300,000',
    async (size) => {
      await truncate(pathIn(root, key), size);
      await expect(store.read(key.key, content.length)).rejects.toThrow(BlobMissing);
      await expect(store.read(key.key, content.length, { start: 0, end: 9 })).rejects.toThrow(key.key);
    },
  );

  it('fails, and does not just end, when the file is truncated meanwhile', async () => {
    const stream = await store.read(key.key, content.length);
    await new Promise((resolve) => stream.once('readable', resolve));
    await truncate(pathIn(root, key), 200_000);
    await expect(buffer(stream)).rejects.toThrow(BlobMissing);
  });

  it('closes its file when it ends and when it is aborted', async () => {
    await buffer(await store.read(key.key, content.length));
    (await store.read(key.key, content.length)).destroy();
    await expect(store.read(key.key, 1)).rejects.toThrow();
    while ((await openBelow(root)).length > 0) await new Promise(setImmediate);
  });
});

describe('the service', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.close());

  let names = 0;
  const workspace = async (): Promise<TestWorkspace> => (await service.user(`store-${++names}`)).workspace();
  const rootOf = (notes: TestWorkspace): string => join(service.dataDir, 'blobs', notes.id);

  async function blobsOf(notes: TestWorkspace): Promise<Key[]> {
    const rows = await service.database.query<{ id: string }>(
      'SELECT id FROM blobs WHERE workspace_id = $1 ORDER BY created_at, id',
      [notes.id],
    );
    return rows.map(({ id }) => keyIn(notes.id, id));
  }

  /** Stores large unreferenced blobs. The last is due since a minute, the others each a minute longer. */
  async function dying(notes: TestWorkspace, count: number): Promise<Key[]> {
    for (let n = 0; n < count; n++) await notes.put(`${n}`.padStart(4, 'f'), randomBytes(70_000)).expect(201);
    for (const table of ['changes', 'versions', 'files'])
      await service.database.query(`DELETE FROM ${table} WHERE workspace_id = $1`, [notes.id]);
    const blobs = await blobsOf(notes);
    for (const [index, { blob }] of blobs.entries()) {
      const since = new Date(service.clock.now().getTime() - (count - index) * MINUTE);
      await service.database.query(`UPDATE blobs SET state = 'dying', not_before = $2 WHERE id = $1`, [
        blob,
        since,
      ]);
    }
    return blobs;
  }

  /** Replaces a blob by a directory, which the store cannot unlink. @returns a function that undoes it */
  async function makeStuck(blob: Key): Promise<() => Promise<void>> {
    const path = pathIn(join(service.dataDir, 'blobs'), blob);
    await rm(path);
    await mkdir(path);
    return async () => {
      await rm(path, { recursive: true });
      await writeFile(path, 'back');
    };
  }

  describe('with a shortened blob', () => {
    it('answers a flat 500 and logs the key, before any header of the file', async () => {
      const notes = await workspace();
      await notes.put('YQ', randomBytes(100_000)).expect(201);
      const [blob] = await blobsOf(notes);
      await truncate(pathIn(join(service.dataDir, 'blobs'), blob!), 50_000);
      for (const headers of [{}, { Range: 'bytes=0-9' }]) {
        const answer = await notes.user.get(notes.file('YQ')).set(headers).expect(500);
        expect(answer.body).toEqual({ error: 'Internal server error' });
        expect(answer.headers.etag).toBeUndefined();
      }
      expect(service.logged()).toContain(blob!.key);
    });

    itDeep('ends the connection when the blob is shortened during a download', async () => {
      const notes = await workspace();
      const size = 64 * 1024 * 1024; // more than the buffers of the sockets hold
      await notes.put('YQ', Buffer.alloc(size)).expect(201);
      const [blob] = await blobsOf(notes);
      const lines = service.logged().length;
      const socket = openSocket(service.url);
      const Authorization = `Bearer ${notes.user.token}`;
      socket.write(headOf('GET', notes.file('YQ'), { Host: 'x', Authorization }));
      await new Promise((resolve) => socket.once('readable', resolve));
      await truncate(pathIn(join(service.dataDir, 'blobs'), blob!), size / 2);
      expect((await received(socket)).length).toBeLessThan(size); // resolves when it is closed
      expect(service.logged().slice(lines)).toContain('a blob ended before its last byte');
    });
  });

  describe('a blob that the disk cannot read', () => {
    const size = 200_000;
    let notes: TestWorkspace;
    let reading: { read(...given: unknown[]): Promise<unknown> };
    beforeAll(async () => {
      notes = await workspace();
      await notes.put('YQ', randomBytes(size)).expect(201);
      reading = (await fileHandles()) as typeof reading;
    });
    afterEach(() => jest.restoreAllMocks());

    it.each([{}, { Range: 'bytes=5-90000' }])(
      'is a 503 without a header of the file (%p)',
      async (headers) => {
        jest.spyOn(reading, 'read').mockRejectedValueOnce(fault());
        const answer = await notes.user.get(notes.file('YQ')).set(headers).expect(503);
        expect(answer.body).toEqual({ error: 'the blob store cannot read' });
        expect(answer.headers['retry-after']).toBeDefined();
        for (const name of ['etag', 'accept-ranges', 'content-range'])
          expect(answer.headers[name]).toBeUndefined();
      },
    );

    it('ends the connection when the fault shows during a download, and logs it', async () => {
      const lines = service.logged().length;
      const { read } = reading;
      let reads = 0;
      jest.spyOn(reading, 'read').mockImplementation(function (this: FileHandle, ...given) {
        return reads++ === 0 ? read.apply(this, given) : Promise.reject(fault());
      });
      const Authorization = `Bearer ${notes.user.token}`;
      const answer = await fetch(`${service.url}${notes.file('YQ')}`, { headers: { Authorization } });
      await expect(answer.arrayBuffer()).rejects.toThrow('terminated');
      expect(service.logged().slice(lines)).toContain('a blob ended before its last byte');
    });

    describe.each(['file', 'asset'] as const)('and whose reader disconnects (%s)', (kind) => {
      const LARGE = 9 * 1024 * 1024;
      let address: string;
      let headers: Record<string, string>;
      beforeAll(async () => {
        const Authorization = `Bearer ${notes.user.token}`;
        headers = { Host: 'x', Authorization, 'X-Workspace-Id': notes.id };
        const token = assetToken();
        if (kind === 'file') await notes.put('Yg', randomBytes(LARGE)).expect(201);
        else await TestAssets.of(notes).create(token, envelope(LARGE)).expect(201);
        address = kind === 'file' ? notes.file('Yg') : `/api/assets/${token}`;
      });

      it.each(['before', 'after'])(
        'is closed when that happens %s its first byte, and nothing is logged',
        async (when) => {
          const lines = service.logged().length;
          const { read } = reading;
          let goOn = (): void => undefined;
          const isGone = new Promise<void>((resolve) => (goOn = resolve));
          const begun = new Promise<void>((begin) =>
            jest.spyOn(reading, 'read').mockImplementation(async function (this: FileHandle, ...given) {
              begin();
              if (when === 'before') await isGone;
              return read.apply(this, given);
            }),
          );
          const socket = openSocket(service.url);
          socket.write(headOf('GET', address, headers));
          await begun;
          if (when === 'after') await once(socket, 'readable');
          socket.destroy();
          await eventually(() => expect(service.app.get(InFlightRequests).count).toBe(0));
          goOn();
          await eventually(async () => expect(await openBelow(rootOf(notes))).toEqual([]));
          expect(service.logged().slice(lines)).not.toContain('a blob ended');
        },
      );
    });

    const fault = (): Error => Object.assign(new Error('EIO'), { code: 'EIO' });
  });

  it.each(['EIO', 'EMFILE', 'ENFILE'])('answers 503 when reading fails with %s', async (code) => {
    const store = await DiskBlobStore.open(join(home, randomUUID()));
    store.read = () => Promise.reject(Object.assign(new Error(code), { code }));
    const { app } = service;
    const [configuration, database] = [app.get(Configuration), app.get(Database)];
    const blobs = new Blobs(
      configuration,
      database,
      new BlobStores(store, never),
      app.get(Clock),
      app.get(Log),
      database.dataSource.getRepository(BlobEntity),
    );
    const blob = {
      workspaceId: randomUUID(),
      id: randomUUID(),
      size: 1,
      location: 'disk' as const,
      bytes: null,
    };
    await expect(blobs.read(blob)).rejects.toThrow(ServiceUnavailable);
  });

  describe('sweeping', () => {
    const sweep = (): Promise<number> => service.app.get(BlobSweeper).sweep(service.clock.now());

    it('skips a blob that cannot be removed, keeps its row, and retries it next time', async () => {
      const notes = await workspace();
      const [first, second, third] = await dying(notes, 3);
      const cure = await makeStuck(first!);
      expect(await sweep()).toBe(2);
      expect(await blobsOf(notes)).toEqual([first]);
      expect(service.logged()).toContain(`"key":"${first!.key}"`);
      expect(await filesOf(notes)).not.toContain(second!.blob);
      expect(await filesOf(notes)).not.toContain(third!.blob);

      await cure();
      service.clock.advance(10 * MINUTE);
      expect(await sweep()).toBe(1);
      expect(await footprint(service, notes.id)).toMatchObject({ blobs: 0, onDisk: [] });
    });

    it('continues after a whole batch of older blobs that cannot be removed', async () => {
      const notes = await workspace();
      const [young] = await dying(notes, 1);
      await service.database.query(
        `INSERT INTO blobs (workspace_id, id, state, location, created_at, not_before)
         SELECT $1, gen_random_uuid(), 'dying', 'disk', $2, $2::timestamptz - interval '1 day' FROM generate_series(1, 200)`,
        [notes.id, service.clock.now()],
      );
      for (const blob of await blobsOf(notes))
        if (blob.blob !== young!.blob)
          await mkdir(pathIn(join(service.dataDir, 'blobs'), blob), { recursive: true });

      expect(await sweep()).toBe(0); // the store seems to be away
      expect(await sweep()).toBe(1);
      expect(await filesOf(notes)).toEqual([]);
      expect(await blobsOf(notes)).toHaveLength(200);
      await rm(rootOf(notes), { recursive: true });
      service.clock.advance(10 * MINUTE);
      expect(await sweep()).toBe(200);
    });

    async function filesOf(notes: TestWorkspace): Promise<string[]> {
      const entries = await readdir(rootOf(notes), { recursive: true, withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
    }
  });

  describe('the purge of a workspace', () => {
    const purged = (): Promise<void> => service.app.get(WorkspacePurge).idle();

    it('leaves no directory behind', async () => {
      const notes = await workspace();
      for (const path of ['YQ', 'Yg', 'Yw']) await notes.put(path, randomBytes(70_000)).expect(201);
      expect(await readdir(join(service.dataDir, 'blobs'))).toContain(notes.id);
      await notes.user.delete(notes.path).expect(200);
      await purged();
      expect(await footprint(service, notes.id)).toEqual(NOTHING);
      expect(await readdir(join(service.dataDir, 'blobs'))).not.toContain(notes.id);
    });

    it('removes all blobs but one that cannot be removed, and that one once it can', async () => {
      const notes = await workspace();
      for (const path of ['YQ', 'Yg', 'Yw']) await notes.put(path, randomBytes(70_000)).expect(201);
      const [first] = await blobsOf(notes);
      const cure = await makeStuck(first!);
      await notes.user.delete(notes.path).expect(200);
      await purged();
      expect(await footprint(service, notes.id)).toMatchObject({ workspaces: 1, blobs: 1, onDisk: [] });

      await cure();
      await service.app.get(WorkspacePurge).resume();
      await purged();
      expect(await footprint(service, notes.id)).toEqual(NOTHING);
      expect(await readdir(join(service.dataDir, 'blobs'))).not.toContain(notes.id);
    });

    it('never removes a directory that is not empty', async () => {
      const root = join(home, randomUUID());
      const store = await DiskBlobStore.open(root);
      const [kept, gone] = [keyIn(), keyIn()];
      const sibling = keyIn(kept.workspace);
      for (const { key } of [kept, gone, sibling]) await store.put(key, chunksOf(Buffer.from('x')));
      await store.delete(sibling.key);
      await store.tidy(kept.workspace);
      await store.tidy(gone.workspace);
      await store.tidy(randomUUID());
      for (const { key } of [kept, gone]) expect(await buffer(await store.read(key, 1))).toHaveLength(1);
    });
  });
});

function never(): Promise<never> {
  return Promise.reject(new Error('there is no other store'));
}

/** Checks many times that a condition holds while pending work goes on. */
async function expectStill(check: () => boolean): Promise<void> {
  for (let looks = 0; looks < 200; looks++) {
    await new Promise(setImmediate);
    await readdir(home); // through the same pool of threads as the work that is watched
    expect(check()).toBe(true);
  }
}

/** The prototype of all open files, whose methods a test can replace. */
async function fileHandles(): Promise<object> {
  const any = await open(tmpdir(), 'r');
  await any.close();
  return Object.getPrototypeOf(any) as object;
}

/** The paths below a directory that this process has open (Linux). */
async function openBelow(directory: string): Promise<string[]> {
  const fds = await readdir('/proc/self/fd');
  return fds.map((fd) => linkOf(fd)).filter((path) => path.startsWith(directory));
}

function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
}
