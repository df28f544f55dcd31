import { IdempotencyKeys } from '../../../src/domain/assets/asset-uploads.js';
import { AmbiguousCommit, Database } from '../../../src/platform/database/index.js';
import { StorageQuota } from '../../../src/domain/assets/index.js';
import { assetsRevision, envelope, expectExactUsage, TestAssets } from '../../kit/assets.js';
import { changedTables, checksums } from '../../kit/checksums.js';
import { footprint } from '../../kit/footprint.js';
import { startService, type TestService } from '../../kit/index.js';

const DAY_MS = 24 * 60 * 60_000;

let service: TestService;
beforeAll(async () => {
  service = await startService({ env: { INLINE_BLOB_BYTES: '100' } });
});
afterAll(() => service.close());
afterEach(async () => {
  service.clock.resume();
  await expectExactUsage(service.database);
});

let names = 0;
/** The assets of a new user's workspace, with a token that stays valid when the clock moves. */
async function newAssets(): Promise<TestAssets> {
  const workspace = await (await service.user(`keys-${++names}`)).workspace();
  const { body } = await workspace.user.post('/api/v1/auth/tokens').send({ name: 'full' }).expect(201);
  return TestAssets.of(workspace).as(workspace.user.at(service.url, body.token));
}

async function expectNothingChanged(work: () => Promise<unknown>): Promise<void> {
  const before = await checksums(service.database);
  await work();
  expect(changedTables(before, await checksums(service.database))).toEqual([]);
}

describe('Idempotency-Key', () => {
  it.each(['k', '!', '~', 'a,b;c="d"', 'x'.repeat(128)])('may be %s', async (key) => {
    const assets = await newAssets();
    await assets.create('YQ', envelope(), key).expect(201, '"YQ"');
    await assets.create('YQ', envelope(), key).expect(201, '"YQ"');
  });

  it('is 1 to 128 visible ASCII characters, else 400', async () => {
    const assets = await newAssets();
    await expectNothingChanged(async () => {
      for (const key of ['', 'two words', 'x'.repeat(129), 'é', 'a\tb'])
        await assets.create('YQ', envelope(), key).expect(400);
      await assets
        .request('post')
        .set('Idempotency-Key', ['a', 'b'] as never)
        .send({})
        .expect(400);
    });
  });

  it('replays the answer for the same token: the first bytes stay, nothing is counted twice', async () => {
    const assets = await newAssets();
    const bytes = envelope(2000);
    await assets.create('YQ', bytes, 'key').expect(201, '"YQ"');
    await expectNothingChanged(async () => {
      await assets.create('YQ', bytes, 'key').expect(201, '"YQ"');
      await assets.create('YQ', envelope(3000), 'key').expect(201, '"YQ"');
      // The token comes after the data, so the bytes are stored before the replay is recognised.
      const data = envelope(3000).toString('base64');
      const late = assets
        .request('post')
        .set('Idempotency-Key', 'key')
        .send({ data, encryptedFilename: 'YQ' });
      await late.expect(201, '"YQ"');
    });
    expect((await assets.get('YQ')).text).toBe(bytes.toString('base64'));
    expect((await footprint(service, assets.workspaceId)).onDisk).toEqual([2000]);
  });

  it('is 409 for another token, and an existing token is 409 with another key or none', async () => {
    const assets = await newAssets();
    await assets.create('YQ', envelope(2000), 'key').expect(201);
    await expectNothingChanged(async () => {
      const other = await assets.create('Yg', envelope(2000), 'key').expect(409);
      expect(other.body.error).toMatch(/Idempotency-Key/);
      await assets.create('YQ', envelope(2000), 'other').expect(409);
      await assets.create('YQ', envelope(2000)).expect(409);
      await assets
        .request('post')
        .set('Idempotency-Key', 'key')
        .send({ data: envelope().toString('base64'), encryptedFilename: 'Yg' })
        .expect(409);
    });
    expect((await footprint(service, assets.workspaceId)).onDisk).toEqual([2000]);
    await assets.create('Yg', envelope(), 'other').expect(201); // the refusals have not used it
  });

  it('is scoped to its workspace: another workspace may use the same key', async () => {
    const assets = await newAssets();
    const others = new TestAssets(assets.user, (await assets.user.workspace('other')).id);
    await assets.create('YQ', envelope(), 'key').expect(201);
    await others.create('Yg', envelope(), 'key').expect(201, '"Yg"');
    await others.create('YQ', envelope(), 'key').expect(409);
    expect([await assets.tokens(), await others.tokens()]).toEqual([['YQ'], ['Yg']]);
  });

  it('does not skip validation: an invalid body is 400', async () => {
    const assets = await newAssets();
    await assets.create('YQ', envelope(), 'key').expect(201);
    await assets.create('YQ', envelope(60), 'key').expect(400);
    await assets.create('Yg', envelope(60), 'key').expect(400);
  });

  it('belongs to the upload, not to the asset: it still replays after a rename or a deletion', async () => {
    const assets = await newAssets();
    await assets.create('YQ', envelope(), 'renamed').expect(201);
    await assets.create('Yg', envelope(), 'deleted').expect(201);
    await assets.rename('YQ', 'Yw').expect(200);
    await assets.delete('Yg').expect(200);
    await expectNothingChanged(async () => {
      await assets.create('YQ', envelope(), 'renamed').expect(201, '"YQ"');
      await assets.create('Yw', envelope(), 'renamed').expect(409);
      await assets.create('Yg', envelope(), 'deleted').expect(201, '"Yg"');
    });
    expect(await assets.tokens()).toEqual(['Yw']);
    await assets.create('Yg', envelope(), 'another').expect(201);
  });
});

describe('keys after 24 hours', () => {
  it('count as new, from the first millisecond on', async () => {
    const assets = await newAssets();
    service.clock.stopAt(service.clock.now());
    await assets.create('YQ', envelope(), 'key').expect(201);
    service.clock.advance(DAY_MS - 1);
    await assets.create('YQ', envelope(), 'key').expect(201, '"YQ"');
    await assets.create('Yg', envelope(), 'key').expect(409);
    service.clock.advance(1);
    await assets
      .create('YQ', envelope(), 'key')
      .expect(409, { error: 'an asset with this token already exists' });
    await assets.create('Yg', envelope(), 'key').expect(201);
    // The second use has begun a new window.
    service.clock.advance(DAY_MS - 1);
    await assets.create('Yg', envelope(), 'key').expect(201);
    await assets.create('YQ', envelope(), 'key').expect(409);
    service.clock.advance(1);
    await assets.create('Yw', envelope(), 'key').expect(201);
  });

  it('are removed, and not before', async () => {
    const keys = service.app.get(IdempotencyKeys);
    const assets = await newAssets();
    service.clock.stopAt(service.clock.now());
    const start = service.clock.now().getTime();
    await assets.create('YQ', envelope(), 'first').expect(201);
    service.clock.advance(1);
    await assets.create('Yg', envelope(), 'second').expect(201);
    const kept = async (): Promise<unknown[]> =>
      (
        await service.database.query<{ key: string }>(
          'SELECT key FROM asset_idempotency_keys WHERE workspace_id = $1',
          [assets.workspaceId],
        )
      ).map(({ key }) => key);
    await keys.forgetExpiredKeys(new Date(start + DAY_MS - 1));
    expect(await kept()).toEqual(['first', 'second']);
    await keys.forgetExpiredKeys(new Date(start + DAY_MS));
    expect(await kept()).toEqual(['second']);
    service.clock.advance(DAY_MS);
    await keys.forgetNow();
    expect(await kept()).toEqual([]);
    expect(await assets.tokens()).toEqual(['Yg', 'YQ']);
  });

  it('are removed in batches, however many there are', async () => {
    const { workspaceId } = await newAssets();
    await service.database.query(
      `INSERT INTO asset_idempotency_keys (workspace_id, key, token, created_at)
       SELECT $1, 'k' || n, 't', '2026-01-01' FROM generate_series(1, 2500) n`,
      [workspaceId],
    );
    const keys = service.app.get(IdempotencyKeys);
    expect(await keys.forgetExpiredKeys(service.clock.now())).toBe(2500);
  });
});

describe('a failed first attempt leaves the key unused', () => {
  it('when the quota refuses it (507)', async () => {
    const assets = await newAssets();
    const quota = service.app.get(StorageQuota);
    const [owner] = await service.database.query<{ id: string }>(
      'SELECT user_id AS id FROM workspaces WHERE id = $1',
      [assets.workspaceId],
    );
    await quota.set(owner!.id, { locked: true });
    await expectNothingChanged(() => assets.create('YQ', envelope(2000), 'key').expect(507));
    await quota.set(owner!.id, { locked: false });
    await assets.create('Yg', envelope(2000), 'key').expect(201);
  });

  it('when its body is refused (400)', async () => {
    const assets = await newAssets();
    await expectNothingChanged(() => assets.create('YQ', envelope(60), 'key').expect(400));
    await assets.create('Yg', envelope(), 'key').expect(201);
  });

  it('when the database goes away before the commit', async () => {
    const assets = await newAssets();
    await service.database.query(`
      CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE SQLSTATE '55P03'; END $$;
      CREATE TRIGGER fail BEFORE INSERT ON assets FOR EACH ROW EXECUTE FUNCTION fail()`);
    await expectNothingChanged(async () => {
      const { headers } = await assets.create('YQ', envelope(2000), 'key').expect(503);
      expect(headers['retry-after']).toMatch(/^\d+$/);
    });
    expect((await footprint(service, assets.workspaceId)).onDisk).toEqual([]);
    await service.database.query('DROP TRIGGER fail ON assets; DROP FUNCTION fail');
    await assets.create('Yg', envelope(2000), 'key').expect(201);
  });
});

describe('a commit whose answer is lost', () => {
  it('is 503; the repeated upload is 201 and stores nothing twice', async () => {
    const assets = await newAssets();
    const database = service.app.get(Database);
    const transaction = database.transaction.bind(database);
    database.transaction = async (work): Promise<never> => {
      database.transaction = transaction;
      await transaction(work);
      throw new AmbiguousCommit(new Error('Connection terminated'));
    };
    const bytes = envelope(2000);
    await assets.create('YQ', bytes, 'key').expect(503);
    expect((await assets.get('YQ')).text).toBe(bytes.toString('base64'));
    expect(await assetsRevision(service.database, assets.workspaceId)).toBe(1);
    await assets.create('YQ', bytes, 'key').expect(201, '"YQ"');
    expect(await assets.tokens()).toEqual(['YQ']);
  });
});
