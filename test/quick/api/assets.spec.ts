import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { SCOPES } from '../../../src/access/route-access.js';
import { Blobs, BlobSweeper } from '../../../src/platform/storage/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { EventBus } from '../../../src/platform/events/index.js';
import { ASSETS, WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { assetsRevision, assetToken, envelope, expectExactUsage, TestAssets } from '../../kit/assets.js';
import { changedTables, checksums } from '../../kit/checksums.js';
import { eventually } from '../../kit/eventually.js';
import { footprint, NOTHING } from '../../kit/footprint.js';
import { startService, type TestService, type TestUser } from '../../kit/index.js';

const MIN = 61;

let service: TestService;
beforeAll(async () => {
  service = await startService({ env: { INLINE_BLOB_BYTES: '1000' } });
});
afterAll(() => service.close());
afterEach(() => expectExactUsage(service.database));

let names = 0;
async function newAssets(): Promise<TestAssets> {
  return TestAssets.of(await (await service.user(`assets-${++names}`)).workspace());
}

async function pat(user: TestUser, body: object): Promise<TestUser> {
  const { token } = (await user.post('/api/v1/auth/tokens').send({ name: 'pat', ...body })).body;
  return user.at(user.url, token);
}

/** Inserts small assets `t1`, `t2` and so on directly into the tables. */
async function makeMany({ user, workspaceId }: TestAssets, count: number): Promise<void> {
  await service.database.query(
    `WITH made AS (
       INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
       SELECT $1, gen_random_uuid(), 'live', 'inline', 61, repeat('0', 64), '', '2026-01-01' FROM generate_series(1, $2)
       RETURNING id
     )
     INSERT INTO assets (workspace_id, token, blob_id, size, revision, uploaded_at)
     SELECT $1, 't' || row_number() OVER (), id, 61, row_number() OVER (), '2026-01-01' FROM made`,
    [workspaceId, count],
  );
  await service.database.query('INSERT INTO storage_accounts (user_id, used_bytes) VALUES ($1, $2)', [
    user.id,
    count * MIN,
  ]);
}

/** How often clients would be notified: the events on the bus, and the count in the workspace's row. */
async function wakeUps(
  assets: TestAssets,
  work: () => Promise<void>,
): Promise<[heard: number, counted: number]> {
  let heard = 0;
  service.app.get(EventBus).on(ASSETS, (key) => {
    if (key === assets.workspaceId) heard++;
  });
  const before = await assetsRevision(service.database, assets.workspaceId);
  await work();
  return [heard, (await assetsRevision(service.database, assets.workspaceId)) - before];
}

describe('POST /api/assets', () => {
  it.each([MIN, MIN + 1, MIN + 2, 1000, 1001, 100_000])(
    'accepts an envelope of %i bytes, and returns the same bytes as base64 text',
    async (size) => {
      const assets = await newAssets();
      const token = assetToken();
      const bytes = envelope(size);
      const { text, headers } = await assets.create(token, bytes).expect(201);
      expect(text).toBe(JSON.stringify(token));
      expect(headers['content-type']).toMatch(/^application\/json/);

      const answer = await assets.get(token).expect(200);
      expect(answer.text).toBe(bytes.toString('base64'));
      expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
      expect(answer.headers['x-asset-size-bytes']).toBe(String(size));
      expect(answer.headers['content-length']).toBe(String(answer.text.length));

      const head = await assets.request('head', `/${token}`).expect(200);
      for (const name of ['content-type', 'content-length', 'x-asset-size-bytes'])
        expect(head.headers[name]).toBe(answer.headers[name]);
      expect((await assets.list())[0]).toMatchObject({ encryptedFilename: token, sizeBytes: size });
    },
  );

  it('needs no subscription: a free account has a quota', async () => {
    const user = await service.user('lapsed');
    const assets = TestAssets.of(await user.workspace());
    await service.database.query(`UPDATE subscriptions SET status = 'expired' WHERE user_id = $1`, [user.id]);
    await assets.create('YQ').expect(201);
    expect(await assets.usage()).toMatchObject({ plan: 'free', usedBytes: MIN });
    await assets.rename('YQ', 'Yg').expect(200);
    await assets.get('Yg').expect(200);
    await assets.delete('Yg').expect(200, { ok: true });
  });

  it('is 409 for an existing token, and leaves its asset unchanged', async () => {
    const assets = await newAssets();
    const bytes = envelope(2000);
    await assets.create('YQ', bytes).expect(201);
    const before = await checksums(service.database);
    const { body } = await assets.create('YQ', envelope(3000)).expect(409);
    expect(body).toEqual({ error: expect.any(String) });
    expect(changedTables(before, await checksums(service.database))).toEqual([]);
    expect((await footprint(service, assets.workspaceId)).onDisk).toEqual([2000]);
    expect((await assets.get('YQ')).text).toBe(bytes.toString('base64'));
  });

  it('keeps workspaces apart: the same token may exist in each', async () => {
    const one = await newAssets();
    const other = TestAssets.of(await one.user.workspace('other'));
    await one.create('YQ', envelope(100)).expect(201);
    await other.create('YQ', envelope(200)).expect(201);
    await one.delete('YQ').expect(200);
    expect(await other.tokens()).toEqual(['YQ']);
    expect((await one.usage()).usedBytes).toBe(200);
  });
});

describe('GET /api/assets/list', () => {
  it('is a JSON array, empty at first', async () => {
    const assets = await newAssets();
    const { text, headers } = await assets.request('get', '/list').expect(200);
    expect([text, headers['content-type']]).toEqual(['[]', 'application/json; charset=utf-8']);
  });

  it('lists the last upload first, also within one millisecond; a rename keeps the place', async () => {
    const assets = await newAssets();
    const time = service.clock.now();
    service.clock.stopAt(time);
    for (const token of ['c', 'a', 'b']) await assets.create(token).expect(201);
    service.clock.advance(1);
    await assets.create('d', envelope(62)).expect(201);
    await assets.rename('a', 'z').expect(200);
    service.clock.resume();
    const first = { sizeBytes: MIN, uploadedAt: time.getTime() };
    expect(await assets.list()).toEqual([
      { encryptedFilename: 'd', sizeBytes: 62, uploadedAt: time.getTime() + 1 },
      ...['b', 'z', 'c'].map((encryptedFilename) => ({ encryptedFilename, ...first })),
    ]);
  });

  it('lists all assets, including thousands of them', async () => {
    const assets = await newAssets();
    await makeMany(assets, 2500);
    expect(await assets.tokens()).toEqual(Array.from({ length: 2500 }, (_, i) => `t${2500 - i}`));
  });

  it('is aborted when the workspace is deleted between two pages: no part looks complete', async () => {
    const assets = await newAssets();
    await makeMany(assets, 2500);
    const database = service.app.get(Database);
    const run = database.run.bind(database);
    let pages = 0;
    database.run = async (statement, values) => {
      if (statement.name === 'assets.page' && ++pages === 2) {
        await assets.user.delete(`/api/v1/workspaces/${assets.workspaceId}`).expect(200);
        await service.app.get(WorkspacePurge).idle();
      }
      return run(statement, values);
    };
    const outcome = await assets.request('get', '/list').then(
      ({ status }) => status,
      (error: unknown) => String(error),
    );
    Object.assign(database, { run });
    expect(outcome).toMatch(/aborted/);
  });
});

describe('GET /api/assets/usage', () => {
  it('returns the sum over all workspaces of the owner', async () => {
    const assets = await newAssets();
    const others = TestAssets.of(await assets.user.workspace('other'));
    await assets.create('YQ', envelope(100)).expect(201);
    await others.create('YQ', envelope(2000)).expect(201);
    const usage = { usedBytes: 2100, quotaBytes: 50 * 2 ** 30, plan: 'pro', addonBytes: 0, locked: false };
    expect(await assets.usage()).toEqual(usage);
    expect(await others.usage()).toEqual(usage);
    expect((await (await newAssets()).usage()).usedBytes).toBe(0);
  });
});

describe('the workspace of an asset request', () => {
  const list = (user: TestUser, query = ''): supertest.Test => user.get(`/api/assets/list${query}`);

  it('is named by header or query, in upper or lower case', async () => {
    const { user, workspaceId } = await newAssets();
    await list(user).set('X-Workspace-Id', workspaceId).expect(200, []);
    await list(user).set('X-Workspace-Id', workspaceId.toUpperCase()).expect(200, []);
    await list(user, `?workspaceId=${workspaceId}`).expect(200, []);
    await list(user, `?workspaceId=${workspaceId}`)
      .set('X-Workspace-Id', workspaceId.toUpperCase())
      .expect(200);
    await list(user, `?workspaceId=${workspaceId}`).set('X-Workspace-Id', '').expect(200);
  });

  it('is 400 when it is not named, or named twice differently; 401 and 403 come first', async () => {
    const { user, workspaceId } = await newAssets();
    const other = await user.workspace('other');
    await list(user).expect(400);
    await list(user, '?workspaceId=').expect(400);
    await list(user).set('X-Workspace-Id', '').expect(400);
    await list(user, `?workspaceId=${other.id}`).set('X-Workspace-Id', workspaceId).expect(400);
    await list(user, `?workspaceId=${other.id}&workspaceId=${workspaceId}`).expect(400);
    await supertest(service.url).get('/api/assets/list').expect(401);
    await list(await pat(user, { scopes: ['documents:read', 'assets:write'] })).expect(403);
  });

  it('is 404 before any validation when it is malformed, unknown, deleted or of another user', async () => {
    const { user } = await newAssets();
    const deleted = await user.workspace('deleted');
    await user.delete(deleted.path).expect(200);
    const strangers = await newAssets();
    for (const id of [
      'x',
      `${strangers.workspaceId}, ${strangers.workspaceId}`,
      randomUUID(),
      deleted.id,
      strangers.workspaceId,
    ]) {
      const assets = new TestAssets(user, id);
      await assets.request('get', '/list').expect(404, { error: 'workspace not found' });
      await assets.request('get', '/not~a~token').expect(404, { error: 'workspace not found' });
      await assets.request('post').send('{').expect(404, { error: 'workspace not found' });
      await assets.deleteAll('x').expect(404, { error: 'workspace not found' });
    }
  });

  it('is 404 for a token that is bound to another workspace, whatever its scopes', async () => {
    const { user, workspaceId } = await newAssets();
    const other = await user.workspace('other');
    for (const scopes of [['full'], ['assets:read', 'assets:write']]) {
      const bound = await pat(user, { scopes, workspaceId });
      await list(bound).set('X-Workspace-Id', workspaceId).expect(200);
      await list(bound).set('X-Workspace-Id', other.id).expect(404);
      await list(bound, `?workspaceId=${other.id}`).expect(404);
      await new TestAssets(bound, other.id).create('YQ').expect(404);
    }
  });
});

describe('PATCH /api/assets/:token', () => {
  it('changes the name alone', async () => {
    const assets = await newAssets();
    await assets.create('YQ', envelope(2000)).expect(201);
    const [before] = await assets.list();
    const object = await footprint(service, assets.workspaceId);
    await assets.rename('YQ', 'Yg').expect(200, { ok: true });
    expect(await assets.list()).toEqual([{ ...before, encryptedFilename: 'Yg' }]);
    expect(await footprint(service, assets.workspaceId)).toEqual(object);
    await assets.get('YQ').expect(404, { error: 'asset not found' });
    await assets.get('Yg').expect(200);
  });

  it('is 404 without the source, 409 when the new name is taken, and a no-op for the same name', async () => {
    const assets = await newAssets();
    await assets.create('YQ').expect(201);
    await assets.create('Yg').expect(201);
    const before = await checksums(service.database);
    const heard = await wakeUps(assets, async () => {
      await assets.rename('absent', 'new').expect(404, { error: 'asset not found' });
      await assets.rename('absent', 'YQ').expect(404);
      await assets.rename('absent', 'absent').expect(404);
      await assets.rename('YQ', 'Yg').expect(409);
      await assets.rename('YQ', 'YQ').expect(200, { ok: true });
    });
    expect(heard).toEqual([0, 0]);
    expect(changedTables(before, await checksums(service.database))).toEqual([]);
  });

  it('is 400 for a malformed new token, and changes nothing', async () => {
    const assets = await newAssets();
    await assets.create('YQ').expect(201);
    const none = [undefined, null, 5, '', 'a b', 'YQ==', 'a+b', 'a/b', 'é', 'a\n', 'a'.repeat(1025), ['YQ']];
    for (const newEncryptedFilename of none)
      await assets.request('patch', '/YQ').send({ newEncryptedFilename }).expect(400);
    expect(await assets.tokens()).toEqual(['YQ']);
  });

  it('is 400 for the name of a route; an asset with such a name can be renamed and deleted', async () => {
    const assets = await newAssets();
    for (const name of ['list', 'usage']) {
      await assets.create('YQ').expect(201);
      await assets.rename('YQ', name).expect(400, {
        error: 'newEncryptedFilename must be 1 to 1024 base64url characters, and neither list nor usage',
      });
      const asset = [assets.workspaceId, name];
      const setBack = 'UPDATE assets SET token = $2 WHERE workspace_id = $1';
      await service.database.query(setBack, asset);
      await assets.rename(name, 'YQ').expect(200);
      expect(await assets.tokens()).toEqual(['YQ']);
      await service.database.query(setBack, asset);
      await assets.delete(name).expect(200);
      expect(await assets.tokens()).toEqual([]);
    }
  });

  it('accepts tokens of 1 to 1,024 characters', async () => {
    const assets = await newAssets();
    const long = 'a'.repeat(1024);
    await assets.create('-').expect(201);
    await assets.rename('-', long).expect(200);
    expect(await assets.tokens()).toEqual([long]);
    await assets.get(long).expect(200);
  });
});

describe('the token in a path', () => {
  it('is 400 when malformed', async () => {
    const assets = await newAssets();
    for (const token of ['a%20b', 'YQ==', 'a+b', 'a%2Fb', '%C3%A9', 'a%00', 'a'.repeat(1025)]) {
      await assets.get(token).expect(400);
      await assets.request('head', `/${token}`).expect(400);
      await assets.rename(token, 'YQ').expect(400);
      await assets.delete(token).expect(400);
    }
  });
});

describe('DELETE /api/assets/:token', () => {
  it('removes the asset and its object, and returns its bytes to the quota', async () => {
    const assets = await newAssets();
    await assets.create('YQ', envelope(500)).expect(201);
    await assets.create('Yg', envelope(2000)).expect(201);
    await assets.delete('Yg').expect(200, { ok: true });
    await assets.get('Yg').expect(404);
    expect(await assets.tokens()).toEqual(['YQ']);
    expect((await assets.usage()).usedBytes).toBe(500);
    await eventually(async () =>
      expect(await footprint(service, assets.workspaceId)).toMatchObject({ blobs: 1, onDisk: [] }),
    );
    await assets.delete('YQ').expect(200);
    await service.app.get(BlobSweeper).sweep(service.clock.now());
    await eventually(async () =>
      expect(await footprint(service, assets.workspaceId)).toMatchObject({ blobs: 0, onDisk: [] }),
    );
  });

  it('succeeds for a missing asset, without notifying clients', async () => {
    const assets = await newAssets();
    await assets.create('YQ').expect(201);
    const heard = await wakeUps(assets, async () => {
      await assets.delete('YQ').expect(200, { ok: true });
      await assets.delete('YQ').expect(200, { ok: true });
      await assets.delete('never').expect(200, { ok: true });
    });
    expect(heard).toEqual([1, 1]);
  });

  it('makes the token free for another upload', async () => {
    const assets = await newAssets();
    await assets.create('YQ', envelope(2000)).expect(201);
    await assets.delete('YQ').expect(200);
    const bytes = envelope(3000);
    await assets.create('YQ', bytes).expect(201);
    expect((await assets.get('YQ')).text).toBe(bytes.toString('base64'));
  });
});

describe('a download of an asset that is deleted meanwhile', () => {
  /** Deletes the asset and its bytes after a download has read its row and before it reads the bytes. */
  function deletedMeanwhile(
    assets: TestAssets,
    andThen = (): PromiseLike<unknown> => Promise.resolve(),
  ): void {
    const blobs = service.app.get(Blobs);
    const read = blobs.read.bind(blobs);
    blobs.read = async (...args): Promise<never> => {
      blobs.read = read;
      await assets.delete('YQ').expect(200);
      await eventually(async () => expect((await footprint(service, assets.workspaceId)).onDisk).toEqual([]));
      await andThen();
      return read(...args) as Promise<never>;
    };
  }

  it('is 404, like a later request', async () => {
    const assets = await newAssets();
    await assets.create('YQ', envelope(2000)).expect(201);
    deletedMeanwhile(assets);
    await assets.get('YQ').expect(404, { error: 'asset not found' });
  });

  it('returns the asset that has replaced it', async () => {
    const assets = await newAssets();
    const bytes = envelope(2500);
    await assets.create('YQ', envelope(2000)).expect(201);
    deletedMeanwhile(assets, () => assets.create('YQ', bytes).expect(201));
    const { text, headers } = await assets.get('YQ').expect(200);
    expect([text, headers['x-asset-size-bytes']]).toEqual([bytes.toString('base64'), '2500']);
  });
});

describe('POST /api/assets/batch-delete', () => {
  it('reports for each token, in the order asked, whether it was there', async () => {
    const assets = await newAssets();
    for (const token of ['a', 'b', 'c']) await assets.create(token, envelope(2000)).expect(201);
    const { body } = await assets.deleteAll(['c', 'absent', 'a']).expect(200);
    expect(body).toEqual({
      results: [
        { token: 'c', deleted: true },
        { token: 'absent', deleted: false },
        { token: 'a', deleted: true },
      ],
    });
    expect(await assets.tokens()).toEqual(['b']);
    expect((await assets.usage()).usedBytes).toBe(2000);
  });

  it('accepts 0 to 1,000 tokens', async () => {
    const assets = await newAssets();
    await assets.create('t7').expect(201);
    await assets.deleteAll([]).expect(200, { results: [] });
    const tokens = Array.from({ length: 1000 }, (_, i) => `t${i}`);
    const { body } = await assets.deleteAll(tokens).expect(200);
    expect(body.results).toEqual(tokens.map((token) => ({ token, deleted: token === 't7' })));
  });

  it.each<[string, unknown]>([
    ['a token twice', ['a', 'b', 'a']],
    ['a malformed token', ['a', 'not a token']],
    ['an empty token', ['a', '']],
    ['a token with padding', ['a', 'YQ==']],
    ['a number', ['a', 5]],
    ['null', ['a', null]],
    ['a list in the list', ['a', ['b']]],
    ['more than 1,000 tokens', Array.from({ length: 1001 }, (_, i) => `t${i}`)],
    ['a string', 'a'],
    ['an object', { 0: 'a', length: 1 }],
    ['a missing list', undefined],
  ])('is 400 as a whole for %s', async (_, tokens) => {
    const assets = await newAssets();
    await assets.create('a').expect(201);
    const before = await checksums(service.database);
    await assets.deleteAll(tokens).expect(400);
    expect(changedTables(before, await checksums(service.database))).toEqual([]);
  });
});

describe('POST /api/assets/import', () => {
  it('is 400 for every token, with and without a workspace, and 401 without a token', async () => {
    const { user, workspaceId } = await newAssets();
    await user.post('/api/assets/import').expect(400);
    await new TestAssets(user, workspaceId).request('post', '/import').send({ path: '/etc' }).expect(400);
    for (const scope of SCOPES) {
      const { body } = await (await pat(user, { scopes: [scope] })).post('/api/assets/import').expect(400);
      expect(body).toEqual({ error: expect.any(String) });
    }
    await supertest(service.url).post('/api/assets/import').expect(401);
  });
});

describe('assets-changed', () => {
  it('is sent once for each upload, rename, deletion and batch that changes something', async () => {
    const assets = await newAssets();
    const heard = await wakeUps(assets, async () => {
      for (const token of ['a', 'b', 'c']) await assets.create(token).expect(201);
      await assets.rename('a', 'd').expect(200);
      await assets.delete('b').expect(200);
      await assets.deleteAll(['c', 'd', 'absent']).expect(200);
    });
    expect(heard).toEqual([6, 6]);
  });

  it('is not sent for replays, no-ops, empty batches and failures', async () => {
    const assets = await newAssets();
    await assets.create('a', envelope(), 'key').expect(201);
    await assets.create('b').expect(201);
    const heard = await wakeUps(assets, async () => {
      await assets.create('a', envelope(), 'key').expect(201);
      await assets.create('c', envelope(), 'key').expect(409);
      await assets.create('a').expect(409);
      await assets.create('c', envelope(60)).expect(400);
      await assets.rename('a', 'a').expect(200);
      await assets.rename('a', 'b').expect(409);
      await assets.rename('absent', 'c').expect(404);
      await assets.delete('absent').expect(200);
      await assets.deleteAll([]).expect(200);
      await assets.deleteAll(['absent']).expect(200);
      await assets.deleteAll(['a', 'a']).expect(400);
      await assets.get('a').expect(200);
    });
    expect(heard).toEqual([0, 0]);
  });
});

describe('a deleted workspace', () => {
  it('removes its assets, their objects and keys, and frees the quota', async () => {
    const assets = await newAssets();
    const kept = TestAssets.of(await assets.user.workspace('kept'));
    await kept.create('YQ', envelope(100)).expect(201);
    for (const size of [100, 200, 2000, 3000])
      await assets.create(`t${size}`, envelope(size), `k${size}`).expect(201);
    expect((await kept.usage()).usedBytes).toBe(5400);
    await assets.user.delete(`/api/v1/workspaces/${assets.workspaceId}`).expect(200);
    await assets.request('get', '/list').expect(404);
    await assets.create('new').expect(404);
    await service.app.get(WorkspacePurge).idle();
    expect(await footprint(service, assets.workspaceId)).toEqual(NOTHING);
    const left = await service.database.query(
      `SELECT token FROM assets WHERE workspace_id = $1
       UNION ALL SELECT key FROM asset_idempotency_keys WHERE workspace_id = $1`,
      [assets.workspaceId],
    );
    expect(left).toEqual([]);
    expect((await kept.usage()).usedBytes).toBe(100);
    expect(await kept.tokens()).toEqual(['YQ']);
  });

  it('is removed in batches when it has thousands of assets', async () => {
    const assets = await newAssets();
    await makeMany(assets, 2500);
    await assets.user.delete(`/api/v1/workspaces/${assets.workspaceId}`).expect(200);
    await service.app.get(WorkspacePurge).idle();
    expect(await footprint(service, assets.workspaceId)).toEqual(NOTHING);
    const kept = TestAssets.of(await assets.user.workspace('kept'));
    expect((await kept.usage()).usedBytes).toBe(0);
  });
});
