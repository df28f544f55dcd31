import { CommanderError } from 'commander';
import type { Report } from '../../../src/operations/admin/with-service.js';
import { StorageQuota } from '../../../src/domain/assets/index.js';
import { Database, statement } from '../../../src/platform/database/index.js';
import { Doctor } from '../../../src/platform/doctor.js';
import { adminReport } from '../../kit/admin.js';
import { envelope, expectExactUsage, TestAssets } from '../../kit/assets.js';
import { changedTables, checksums } from '../../kit/checksums.js';
import { footprint } from '../../kit/footprint.js';
import { startService, type TestService } from '../../kit/index.js';

const FREE = 1000;
const PRO = 5000;

let service: TestService;
let quota: StorageQuota;
beforeAll(async () => {
  service = await startService({
    env: {
      INLINE_BLOB_BYTES: '100',
      ASSET_QUOTA_FREE_BYTES: String(FREE),
      ASSET_QUOTA_PRO_BYTES: String(PRO),
    },
  });
  quota = service.app.get(StorageQuota);
});
afterAll(() => service.close());

let names = 0;
async function newAssets(): Promise<TestAssets> {
  return TestAssets.of(await (await service.user(`quota-${++names}`)).workspace());
}

function endSubscription({ user }: TestAssets): Promise<unknown> {
  return service.database.query(`UPDATE subscriptions SET status = 'expired' WHERE user_id = $1`, [user.id]);
}

describe('the quota of an account', () => {
  afterEach(() => expectExactUsage(service.database));

  it('can be used to the last byte; more is 507 with the figures, and stores nothing', async () => {
    const assets = await newAssets();
    await assets.create('a', envelope(PRO - 200)).expect(201);
    const before = await checksums(service.database);
    const { body } = await assets.create('b', envelope(201)).expect(507);
    expect(body).toEqual({
      error: expect.any(String),
      code: 'STORAGE_QUOTA_EXCEEDED',
      details: { usedBytes: PRO - 200, quotaBytes: PRO, requestedBytes: 201, locked: false },
    });
    expect(changedTables(before, await checksums(service.database))).toEqual([]);
    expect((await footprint(service, assets.workspaceId)).onDisk).toEqual([PRO - 200]);
    await assets.create('b', envelope(200)).expect(201);
    await assets.create('c').expect(507);
    await assets.delete('b').expect(200);
    await assets.create('c').expect(201);
  });

  it('also refuses the first asset of an account when it does not fit', async () => {
    const assets = await newAssets();
    const { body } = await assets.create('a', envelope(PRO + 1)).expect(507);
    expect(body.details).toEqual({ usedBytes: 0, quotaBytes: PRO, requestedBytes: PRO + 1, locked: false });
    expect(await assets.list()).toEqual([]);
  });

  it('is shared by all workspaces of the account', async () => {
    const assets = await newAssets();
    const others = TestAssets.of(await assets.user.workspace('other'));
    await assets.create('a', envelope(PRO - 100)).expect(201);
    await others.create('a', envelope(101)).expect(507);
    await others.create('a', envelope(100)).expect(201);
  });

  it('is the free quota without a subscription; assets beyond it can be read and deleted', async () => {
    const assets = await newAssets();
    await assets.create('a', envelope(900)).expect(201);
    await assets.create('b', envelope(900)).expect(201);
    await endSubscription(assets);
    expect(await assets.usage()).toEqual({
      ...{ usedBytes: 1800, quotaBytes: FREE, plan: 'free', addonBytes: 0, locked: false },
    });
    const { body } = await assets.create('c').expect(507);
    expect(body.details).toEqual({ usedBytes: 1800, quotaBytes: FREE, requestedBytes: 61, locked: false });
    await assets.get('a').expect(200);
    await assets.rename('a', 'd').expect(200);
    await assets.delete('d').expect(200);
    await assets.create('c').expect(201);
  });

  it('grows by add-on bytes', async () => {
    const assets = await newAssets();
    await endSubscription(assets);
    await quota.set(assets.user.id, { addonBytes: 500 });
    await assets.create('a', envelope(FREE + 501)).expect(507);
    await assets.create('a', envelope(FREE + 500)).expect(201);
    expect(await assets.usage()).toEqual({
      ...{ usedBytes: FREE + 500, quotaBytes: FREE + 500, plan: 'free', addonBytes: 500, locked: false },
    });
    await quota.set(assets.user.id, { addonBytes: 0 });
    expect((await assets.create('b').expect(507)).body.details).toMatchObject({
      usedBytes: FREE + 500,
      quotaBytes: FREE,
    });
  });

  it('admits no upload to a locked account, whose assets can still be read and deleted', async () => {
    const assets = await newAssets();
    await assets.create('a').expect(201);
    await quota.set(assets.user.id, { locked: true });
    expect((await assets.create('b').expect(507)).body).toMatchObject({
      code: 'STORAGE_QUOTA_EXCEEDED',
      details: { usedBytes: 61, quotaBytes: PRO, requestedBytes: 61, locked: true },
    });
    expect((await assets.usage()).locked).toBe(true);
    await assets.get('a').expect(200);
    await assets.rename('a', 'c').expect(200);
    await assets.deleteAll(['c']).expect(200);
    await quota.set(assets.user.id, { locked: false });
    await assets.create('b').expect(201);
  });
});

describe('the usage counter of an account', () => {
  it('is found and corrected when it is not the sum of the assets', async () => {
    const [more, less, none] = [await newAssets(), await newAssets(), await newAssets()];
    for (const assets of [more, less]) await assets.create('a', envelope(500)).expect(201);
    const drift = (assets: TestAssets, bytes: number): Promise<unknown> =>
      service.database.query('UPDATE storage_accounts SET used_bytes = used_bytes + $2 WHERE user_id = $1', [
        assets.user.id,
        bytes,
      ]);
    expect(await quota.drift()).toEqual([]);
    await drift(more, 7);
    await drift(less, -7);
    await quota.set(none.user.id, {});
    await drift(none, 7);
    const wrong = [
      { userId: more.user.id, usedBytes: 507, actualBytes: 500 },
      { userId: less.user.id, usedBytes: 493, actualBytes: 500 },
      { userId: none.user.id, usedBytes: 7, actualBytes: 0 },
    ];
    expect(await quota.drift()).toEqual(expect.arrayContaining(wrong));
    expect(await quota.repair()).toEqual(expect.arrayContaining(wrong));
    expect(await quota.drift()).toEqual([]);
    await service.database.query('DELETE FROM storage_accounts WHERE user_id = $1', [less.user.id]);
    expect(await quota.repair()).toEqual([{ userId: less.user.id, usedBytes: 0, actualBytes: 500 }]);
    await expectExactUsage(service.database);
    expect((await less.usage()).usedBytes).toBe(500);
  });

  it('is reported by the doctor when it is wrong, and corrected with --fix', async () => {
    const assets = await newAssets();
    await assets.create('a', envelope(500)).expect(201);
    await service.database.query('UPDATE storage_accounts SET used_bytes = 0 WHERE user_id = $1', [
      assets.user.id,
    ]);
    const findings = async (fix: boolean): Promise<unknown[]> => {
      const found: unknown[] = [];
      const examination = { now: service.clock.now(), isDeep: false, fix };
      for await (const finding of service.app.get(Doctor).examine(examination)) found.push(finding);
      return found;
    };
    const finding = {
      fault: 'quota drift',
      subject: `account ${assets.user.id}`,
      problem: 'The usage counter is 0 bytes; the assets take 500 bytes.',
      cure: expect.stringContaining('--fix'),
    };
    expect(await findings(false)).toEqual([{ ...finding, isFixed: false }]);
    expect(await findings(true)).toEqual([{ ...finding, isFixed: true }]);
    expect(await findings(false)).toEqual([]);
  });

  it('is corrected during uploads and deletions without losing any of them', async () => {
    const assets = await newAssets();
    const round = async (i: number): Promise<void> => {
      await assets.create(`t${i}`).expect(201);
      if (i % 2) await assets.delete(`t${i}`).expect(200);
    };
    const repairs = Array.from({ length: 10 }, async () => {
      await service.database.query(
        'UPDATE storage_accounts SET used_bytes = used_bytes + 1 WHERE user_id = $1',
        [assets.user.id],
      );
      await quota.repair();
    });
    await Promise.all([...Array.from({ length: 20 }, (_, i) => round(i)), ...repairs]);
    await quota.repair();
    expect((await assets.usage()).usedBytes).toBe(10 * 61);
    await expectExactUsage(service.database);
  });

  it('cannot be negative: the database refuses it', async () => {
    const assets = await newAssets();
    await quota.set(assets.user.id, {});
    const below = service.app
      .get(Database)
      .run(statement('test.below', 'UPDATE storage_accounts SET used_bytes = -1 WHERE user_id = $1'), [
        assets.user.id,
      ]);
    await expect(below).rejects.toThrow(/check constraint/);
  });
});

describe('npm run admin -- storage set', () => {
  const ADDON = 2 ** 42;

  const set = (...args: string[]): Promise<Report> =>
    adminReport(
      { DATA_DIR: service.dataDir, DATABASE_URL: service.database.url },
      ...['storage', 'set', ...args],
    );

  it('sets add-on bytes and the lock; an option that is not given keeps its value', async () => {
    const { user } = await newAssets();
    const told = await set(user.email, '--addon', String(ADDON), '--locked');
    const figures = { usedBytes: 0, plan: 'pro', addonBytes: ADDON, locked: true };
    const quotaBytes = 50 * 2 ** 30 + ADDON; // by the default, which the command uses
    expect(told).toEqual({ text: expect.any(String), email: user.email, ...figures, quotaBytes });
    await set(user.email, '--unlocked');
    expect(await quota.usage(user.id)).toEqual({ ...figures, quotaBytes: PRO + ADDON, locked: false });
  });

  it('refuses an unknown account and a malformed number of bytes', async () => {
    await expect(set('nobody@example.org', '--locked')).rejects.toThrow('there is no account');
    const stderr = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    await expect(set('nobody@example.org', '--addon', '1e3')).rejects.toThrow(CommanderError);
    stderr.mockRestore();
  });
});
