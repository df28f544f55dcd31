import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { StorageQuota } from '../../../src/domain/assets/index.js';
import { Blobs, BlobSweeper } from '../../../src/platform/storage/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { assetToken, envelope, expectExactUsage, TestAssets } from '../../kit/assets.js';
import { changedTables, checksums } from '../../kit/checksums.js';
import { eventually } from '../../kit/eventually.js';
import { footprint, NOTHING } from '../../kit/footprint.js';
import { startService, type TestService } from '../../kit/index.js';
import { answerOf, headOf, received } from '../../kit/raw-http.js';

const MIB = 1024 * 1024;
const MAX = 25 * MIB + 61;

let service: TestService;
let assets: TestAssets;
beforeAll(async () => {
  // Small assets go to the store too, so that a refused upload could leave an object behind.
  service = await startService({ env: { INLINE_BLOB_BYTES: '100' } });
  assets = TestAssets.of(await (await service.user('alice')).workspace());
});
afterAll(() => service.close());
afterEach(() => expectExactUsage(service.database));

const post = (body: string | Buffer): ReturnType<TestAssets['request']> =>
  assets
    .request('post')
    .set('Content-Type', 'application/json')
    .serialize((raw: unknown) => raw as string)
    .send(body as string);

/** A refusal leaves no row and no object. */
async function expectRefused(
  status: number,
  send: () => PromiseLike<{ status: number; body: unknown }>,
): Promise<void> {
  const before = await checksums(service.database);
  const { onDisk } = await footprint(service, assets.workspaceId);
  const answer = await send();
  expect([answer.status, answer.body]).toEqual([status, { error: expect.any(String) }]);
  expect(changedTables(before, await checksums(service.database))).toEqual([]);
  expect((await footprint(service, assets.workspaceId)).onDisk).toEqual(onDisk);
}

const base64 = (size: number): string => envelope(size).toString('base64');
const DATA = base64(300);

describe('the token of an upload', () => {
  it.each([undefined, null, 5, '', 'a b', 'YQ==', 'a+b', 'a/b', 'é', 'a\n', ['YQ'], { a: 1 }])(
    'is 400 when it is %j, before or after the data',
    async (encryptedFilename) => {
      await expectRefused(400, () => post(JSON.stringify({ encryptedFilename, data: DATA })));
      await expectRefused(400, () => post(JSON.stringify({ data: DATA, encryptedFilename })));
    },
  );

  it('is 400 when a GET route has that name', async () => {
    const { paths } = (await assets.user.get('/openapi.json').expect(200)).body;
    const routes = Object.keys(paths).flatMap((path) => /^\/api\/assets\/([^{]+)$/.exec(path)?.[1] ?? []);
    expect(routes).toEqual(expect.arrayContaining(['list', 'usage', 'batch-delete', 'import']));
    for (const name of routes) {
      if (paths[`/api/assets/${name}`].get) {
        await expectRefused(400, () => assets.create(name));
        const data = DATA;
        await expectRefused(400, () => post(JSON.stringify({ data, encryptedFilename: name })));
      } else {
        await assets.create(name).expect(201);
        await assets.get(name).expect(200);
      }
    }
    for (const name of ['lists', 'List', 'usage-']) {
      await assets.create(name).expect(201);
      await assets.get(name).expect(200);
    }
  });

  it('is 400 when it or the Idempotency-Key is malformed, with 10 MiB of data', async () => {
    await expectRefused(400, () => assets.create('not a token', envelope(10 * MIB)));
    await expectRefused(400, () => assets.create('YQ', envelope(10 * MIB), 'not a key'));
  });

  it('has 1 to 1,024 characters', async () => {
    const long = randomBytes(768).toString('base64url');
    await assets.create(long).expect(201, JSON.stringify(long));
    await assets.create('_').expect(201);
    await expectRefused(400, () => assets.create(`${long}a`));
  });
});

describe('the data of an upload', () => {
  const SLASHES = Buffer.alloc(90, 0xff).toString('base64');

  it.each<[string, unknown]>([
    ['absent', undefined],
    ['null', null],
    ['a number', 5],
    ['an object', { data: DATA }],
    ['empty', ''],
    ['in base64url at its end', `${DATA}----`],
    ['in base64url at its start', `----${DATA}`],
    ['without its padding', Buffer.alloc(91).toString('base64').replace(/=+$/, '')],
    ['with too much padding', `${Buffer.alloc(90).toString('base64')}====`],
    ['with padding inside', `AA==${DATA}`],
    ['with stray bits after its last byte', `${'A'.repeat(120)}AB==`],
    ['with a space', `${DATA.slice(0, 100)} ${DATA.slice(100)}`],
    ['with a line break', `${DATA.slice(0, 100)}\n${DATA.slice(100)}`],
    ['with a line break at its end', `${DATA}\n`],
    ['with a backslash', `${DATA.slice(0, 100)}\\AAA`],
    ['with a quote', `${DATA.slice(0, 100)}"AAA`],
    ['with a letter beyond ASCII', `${DATA.slice(0, 100)}éAAA`],
    ['a data URL', `data:application/octet-stream;base64,${DATA}`],
    ['of three characters', 'AAA'],
    ['of 60 bytes', base64(60)],
  ])('is 400 %s', async (_, data) => {
    await expectRefused(400, () => post(JSON.stringify({ encryptedFilename: 'YQ', data })));
    await expectRefused(400, () => post(JSON.stringify({ data, encryptedFilename: 'YQ' })));
  });

  it('may contain JSON escapes', async () => {
    const token = assetToken();
    const data = SLASHES.replaceAll('/', '\\/').replace('\\/', '\\u002f');
    await post(`{"encryptedFilename":"${token}","data":"${data}"}`).expect(201);
    expect((await assets.get(token)).text).toBe(SLASHES);
  });

  it('has at most 25 MiB and 61 bytes', async () => {
    const token = assetToken();
    const bytes = envelope(MAX);
    await assets.create(token, bytes).expect(201);
    const { text } = await assets.get(token).expect(200);
    expect(text === bytes.toString('base64')).toBe(true);
    expect((await assets.usage()).usedBytes).toBeGreaterThanOrEqual(MAX);
    await expectRefused(400, () => assets.create(assetToken(), envelope(MAX + 1)));
  });
});

describe('the JSON around it', () => {
  it.each<[string, string]>([
    ['an empty body', ''],
    ['no JSON', 'nonsense'],
    ['a list', `[{"encryptedFilename":"YQ","data":"${DATA}"}]`],
    ['a text', `"${DATA}"`],
    ['an end within the data', `{"encryptedFilename":"YQ","data":"${DATA}`],
    ['an end right after the data', `{"encryptedFilename":"YQ","data":"${DATA}"`],
    ['text after its end', `{"encryptedFilename":"YQ","data":"${DATA}"}{}`],
    ['a trailing comma', `{"encryptedFilename":"YQ","data":"${DATA}",}`],
    ['the data twice', `{"encryptedFilename":"YQ","data":"${DATA}","data":"${DATA}"}`],
    ['the token twice', `{"encryptedFilename":"YQ","data":"${DATA}","encryptedFilename":"Yg"}`],
    ['a member __proto__', `{"encryptedFilename":"YQ","data":"${DATA}","__proto__":{}}`],
    ['the data one level down', `{"encryptedFilename":"YQ","upload":{"data":"${DATA}"}}`],
    [
      'nesting deeper than 32',
      `{"encryptedFilename":"YQ","data":"${DATA}","x":${'['.repeat(32)}${']'.repeat(32)}}`,
    ],
  ])('is 400 with %s', async (_, body) => {
    await expectRefused(400, () => post(body));
  });

  it('may have unknown members, in any order', async () => {
    const [token, data] = [assetToken(), base64(500)];
    const body = {
      mime: 'image/png',
      data,
      nested: { data: 'x', encryptedFilename: 'y' },
      encryptedFilename: token,
      size: 1,
    };
    await post(JSON.stringify(body, null, 2)).expect(201);
    expect((await assets.get(token)).text).toBe(data);
  });

  it('is 413 with more than 64 KiB besides the data', async () => {
    const body = { encryptedFilename: 'YQ', data: DATA, extra: 'x'.repeat(64 * 1024) };
    await expectRefused(413, () => post(JSON.stringify(body)));
  });

  it('is 413 before it is read when its length exceeds the largest envelope', async () => {
    await expectRefused(413, () => post(Buffer.alloc(36_100_000, 0x20)));
    const socket = startUpload(36_100_000, '');
    expect(answerOf(await received(socket)).status).toBe(413);
  });

  it('is 415 with a content encoding', async () => {
    await expectRefused(415, () => assets.create('YQ').set('Content-Encoding', 'gzip'));
  });
});

describe('an upload under way', () => {
  const half = (): Socket => {
    const body = JSON.stringify({ encryptedFilename: assetToken(), data: base64(100_000) });
    return startUpload(body.length, body.slice(0, 50_000));
  };

  const staged = async (): Promise<number> =>
    (await service.database.query(`SELECT id FROM blobs WHERE state = 'staged'`)).length;

  it('delays no other upload, and leaves no blob when its client disconnects', async () => {
    const before = (await footprint(service, assets.workspaceId)).onDisk.length;
    const slow = Array.from({ length: 12 }, half);
    await eventually(async () => expect(await staged()).toBe(12));
    await assets.create(assetToken(), envelope(200_000)).expect(201);
    for (const socket of slow) socket.destroy();
    await eventually(async () => expect(await staged()).toBe(0));
    expect((await footprint(service, assets.workspaceId)).onDisk).toHaveLength(before + 1);
  });

  it('is 503 and creates nothing when the sweeper has deleted its bytes', async () => {
    const quota = service.app.get(StorageQuota);
    const allowance = quota.allowance.bind(quota);
    quota.allowance = async (userId) => {
      quota.allowance = allowance; // called after the bytes and before the rows are written
      const later = new Date(service.clock.now().getTime() + 61 * 60_000);
      await service.app.get(BlobSweeper).sweep(later);
      return allowance(userId);
    };
    await expectRefused(503, () => assets.create(assetToken(), envelope(2000)));
  });

  it('is left to the sweeper while the database is down: its client does not wait twice', async () => {
    const lost = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const transaction = jest.spyOn(service.app.get(Database), 'transaction').mockRejectedValueOnce(lost);
    const discard = jest.spyOn(service.app.get(Blobs), 'discard');
    try {
      await assets.create(assetToken(), envelope(2000)).expect(503);
      expect(discard).not.toHaveBeenCalled();
    } finally {
      for (const spy of [transaction, discard]) spy.mockRestore();
    }
    await service.app.get(BlobSweeper).sweep(new Date(service.clock.now().getTime() + 61 * 60_000));
  });

  it('that dies before its rows are written leaves an object that is swept after 30 minutes', async () => {
    const blobs = service.app.get(Blobs);
    const discard = blobs.discard.bind(blobs);
    blobs.discard = (): Promise<void> => {
      blobs.discard = discard;
      return Promise.resolve();
    };
    const dead = TestAssets.of(await assets.user.workspace('dead'));
    const quota = service.app.get(StorageQuota);
    await quota.set(assets.user.id, { locked: true });
    await dead.create('YQ', envelope(2000)).expect(507);
    await quota.set(assets.user.id, { locked: false });
    const sweepAfter = (ms: number): Promise<number> =>
      service.app.get(BlobSweeper).sweep(new Date(service.clock.now().getTime() + ms));
    await sweepAfter(29 * 60_000);
    expect((await footprint(service, dead.workspaceId)).onDisk).toEqual([2000]);
    await sweepAfter(30 * 60_000);
    expect(await footprint(service, dead.workspaceId)).toMatchObject({ blobs: 0, onDisk: [] });
  });

  it('is 404 and creates nothing when its workspace is deleted meanwhile', async () => {
    const gone = TestAssets.of(await assets.user.workspace('gone'));
    const quota = service.app.get(StorageQuota);
    const allowance = quota.allowance.bind(quota);
    quota.allowance = async (userId) => {
      quota.allowance = allowance;
      await assets.user.delete(`/api/v1/workspaces/${gone.workspaceId}`).expect(200);
      return allowance(userId);
    };
    await gone.create('YQ', envelope(2000)).expect(404, { error: 'workspace not found' });
    await service.app.get(WorkspacePurge).resume();
    await service.app.get(WorkspacePurge).idle();
    expect(await footprint(service, gone.workspaceId)).toEqual(NOTHING);
  });
});

/** Sends the head of an upload and the first bytes of its body on a new connection. */
function startUpload(length: number, start: string): Socket {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  const head = headOf('POST', '/api/assets', {
    Host: hostname,
    Connection: 'close',
    Authorization: `Bearer ${assets.user.token}`,
    'X-Workspace-Id': assets.workspaceId,
    'Content-Length': String(length),
  });
  socket.on('error', () => undefined);
  socket.write(Buffer.concat([head, Buffer.from(start)]));
  return socket;
}
