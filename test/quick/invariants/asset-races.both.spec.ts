import { BlobSweeper } from '../../../src/platform/storage/index.js';
import { EventBus } from '../../../src/platform/events/index.js';
import { ASSETS, WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { assetsRevision, envelope, expectExactUsage, TestAssets } from '../../kit/assets.js';
import { eventually } from '../../kit/eventually.js';
import { footprint, NOTHING } from '../../kit/footprint.js';
import { startService, type TestService } from '../../kit/index.js';
import { Random } from '../../kit/random.js';
import { itDeep, rounds } from '../../kit/rounds.js';

const SIZE = 200;
const ROUNDS = 4;
const ROOM = 10;
const UPLOADS = rounds(40, 200);
const MOST_TIMES_AGAIN = 10;
const HOUR_MS = 60 * 60_000;

let first: TestService;
let second: TestService;
let turn = 0;

beforeAll(async () => {
  // All contents are in the store, and the quota has room for ten.
  const env = { INLINE_BLOB_BYTES: '100', ASSET_QUOTA_PRO_BYTES: String(ROOM * SIZE) };
  first = await startService({ env });
  second = await startService({ env, beside: first });
});
afterAll(async () => {
  await second.close();
  await first.close();
});

/** The assets of a fresh workspace, as seen through each of the two instances. */
async function both(): Promise<[TestAssets, TestAssets]> {
  const alice = await first.user(`alice-${turn++}`);
  const assets = TestAssets.of(await alice.workspace());
  return [assets, assets.as(alice.at(second.url))];
}

/** Sends requests at once. A slow machine may refuse some, which are retried a few times. */
const times = <T extends { status: number }>(n: number, make: (i: number) => PromiseLike<T>): Promise<T[]> =>
  Promise.all(
    Array.from({ length: n }, async (_, i) => {
      let answer = await make(i);
      for (let again = 0; answer.status === 503 && again < MOST_TIMES_AGAIN; again++) answer = await make(i);
      return answer;
    }),
  );

/** A deadlock is answered with 503 too, and must never happen. */
afterEach(() => expect(first.logged() + second.logged()).not.toMatch(/"code":"(?:40P01|40001)"/));

/** How many answers had which status. */
function statuses(answers: { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Expects this many assets in the store and in the tables, after a sweep an hour later. */
async function expectNothingLeftBut(assets: TestAssets, objects: number): Promise<void> {
  await first.app.get(BlobSweeper).sweep(new Date(first.clock.now().getTime() + HOUR_MS + 1));
  // Another sweep, begun after a deletion, may still be removing some.
  await eventually(async () => {
    const { blobs, onDisk } = await footprint(first, assets.workspaceId);
    expect({ blobs, onDisk }).toEqual({ blobs: objects, onDisk: Array<number>(objects).fill(SIZE) });
  });
  expect(await assets.list()).toHaveLength(objects);
  await expectExactUsage(first.database);
  expect((await assets.usage()).usedBytes).toBe(objects * SIZE);
}

describe('uploads to a quota with room for ten', () => {
  it('create exactly ten on two instances; the others are 507, and nothing is left of those', async () => {
    const instances = await both();
    const answers = await times(UPLOADS, (i) => instances[i % 2]!.create(`t${i}`, envelope(SIZE)));
    expect(statuses(answers)).toEqual({ 201: ROOM, 507: UPLOADS - ROOM });
    for (const { status, body } of answers) {
      if (status !== 507) continue;
      expect(body.code).toBe('STORAGE_QUOTA_EXCEEDED');
      expect(body.details).toEqual({
        usedBytes: ROOM * SIZE,
        quotaBytes: ROOM * SIZE,
        requestedBytes: SIZE,
        locked: false,
      });
    }
    await expectNothingLeftBut(instances[0], ROOM);
  });

  itDeep('count together from many workspaces of one account', async () => {
    const [here] = await both();
    const workspaces = [here];
    for (let i = 0; i < 4; i++) workspaces.push(TestAssets.of(await here.user.workspace(`w${i}`)));
    const answers = await times(60, (i) => {
      const assets = workspaces[i % 5]!;
      return (i % 2 ? assets : assets.as(here.user.at(second.url))).create(`t${i}`, envelope(SIZE));
    });
    expect(statuses(answers)).toEqual({ 201: ROOM, 507: 50 });
    expect((await here.usage()).usedBytes).toBe(ROOM * SIZE);
    await expectExactUsage(first.database);
  });
});

describe('one token, uploaded many times at once', () => {
  it('is created once; the other uploads are 409 and leave nothing', async () => {
    const instances = await both();
    const answers = await times(40, (i) => instances[i % 2]!.create('same', envelope(SIZE)));
    expect(statuses(answers)).toEqual({ 201: 1, 409: 39 });
    await expectNothingLeftBut(instances[0], 1);
    expect(await assetsRevision(first.database, instances[0].workspaceId)).toBe(1);
  });

  itDeep('with one idempotency key is one row, and all requests get the same answer', async () => {
    const instances = await both();
    let heard = 0;
    first.app.get(EventBus).on(ASSETS, (key, origin) => {
      if (origin === 'here' && key === instances[0].workspaceId) heard++;
    });
    second.app.get(EventBus).on(ASSETS, (key, origin) => {
      if (origin === 'here' && key === instances[0].workspaceId) heard++;
    });
    const bytes = envelope(SIZE);
    const answers = await times(60, (i) => instances[i % 2]!.create('same', bytes, 'key'));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(['201 "same"']));
    await expectNothingLeftBut(instances[0], 1);
    expect(heard).toBe(1);
    expect(await assetsRevision(first.database, instances[0].workspaceId)).toBe(1);
  });

  itDeep('is created once when an idempotency key comes with many tokens; the others are 409', async () => {
    const instances = await both();
    const answers = await times(40, (i) => instances[i % 2]!.create(`t${i}`, envelope(SIZE), 'key'));
    expect(statuses(answers)).toEqual({ 201: 1, 409: 39 });
    await expectNothingLeftBut(instances[0], 1);
  });
});

describe('deletions, batches and renames at the same time', () => {
  itDeep('free each byte once, and one of them reports a token as deleted', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const [here, there] = await both();
      const tokens = Array.from({ length: ROOM }, (_, i) => `t${i}`);
      for (const token of tokens) await here.create(token, envelope(SIZE)).expect(201);
      const batches = await times(8, (i) =>
        (i % 2 ? here : there).deleteAll(i % 4 < 2 ? tokens : [...tokens].reverse()),
      );
      const deleted = batches.flatMap(({ body }) => body.results as { token: string; deleted: boolean }[]);
      expect(
        deleted
          .filter((one) => one.deleted)
          .map(({ token }) => token)
          .sort(),
      ).toEqual(tokens);
      await expectNothingLeftBut(here, 0);
      expect(await assetsRevision(first.database, here.workspaceId)).toBe(ROOM + 1);
    }
  });

  itDeep('keep the usage exact in any mix on two instances', async () => {
    const random = new Random(20261120);
    const [here, there] = await both();
    const other = TestAssets.of(await here.user.workspace('other'));
    const places = [here, there, other, other.as(there.user)];
    const token = (): string => `t${random.below(8)}`;
    const act = (assets: TestAssets): PromiseLike<{ status: number }> => {
      const chance = random.next();
      if (chance < 0.45)
        return assets.create(token(), envelope(SIZE), random.next() < 0.3 ? `k${random.below(4)}` : null);
      if (chance < 0.6) return assets.delete(token());
      if (chance < 0.75) return assets.deleteAll([...new Set([token(), token(), token()])]);
      return assets.rename(token(), token());
    };
    for (let round = 0; round < 12; round++) {
      const answers = await times(24, () => act(random.pick(places)));
      expect(answers.filter(({ status }) => ![200, 201, 404, 409, 507].includes(status))).toEqual([]);
      await expectExactUsage(first.database);
    }
    await first.app.get(BlobSweeper).sweep(new Date(first.clock.now().getTime() + HOUR_MS + 1));
    const left = (await here.list()).length + (await other.list()).length;
    expect((await here.usage()).usedBytes).toBe(left * SIZE);
    await eventually(async () => {
      const [one, two] = [
        await footprint(first, here.workspaceId),
        await footprint(first, other.workspaceId),
      ];
      expect(one.onDisk.length + two.onDisk.length).toBe(left);
    });
  });

  itDeep(
    'let one of several renames to a name succeed; the others are 409 and keep their names',
    async () => {
      const [here, there] = await both();
      const tokens = Array.from({ length: ROOM }, (_, i) => `t${i}`);
      for (const token of tokens) await here.create(token, envelope(SIZE)).expect(201);
      const answers = await times(ROOM, (i) => (i % 2 ? here : there).rename(`t${i}`, 'target'));
      expect(statuses(answers)).toEqual({ 200: 1, 409: ROOM - 1 });
      expect((await here.tokens()).filter((token) => token === 'target')).toHaveLength(1);
      await expectNothingLeftBut(here, ROOM);
    },
  );
});

describe('a workspace that is deleted during uploads and deletions', () => {
  itDeep('frees every byte, and no upload leaves anything behind', async () => {
    for (let round = 0; round < 5; round++) {
      const [here, there] = await both();
      for (let i = 0; i < 4; i++) await here.create(`t${i}`, envelope(SIZE)).expect(201);
      const answers = await times(16, (i) => {
        if (i === 5)
          return here.user.delete(`/api/v1/workspaces/${here.workspaceId}`).then((answer) => answer);
        const assets = i % 2 ? here : there;
        return (i % 3 ? assets.create(`n${i}`, envelope(SIZE)) : assets.delete(`t${i % 4}`)).then(
          (answer) => answer,
        );
      });
      expect(answers.filter(({ status }) => status >= 500 && status !== 507)).toEqual([]);
      for (const { app } of [first, second]) {
        await app.get(WorkspacePurge).resume();
        await app.get(WorkspacePurge).idle();
      }
      const kept = TestAssets.of(await here.user.workspace('kept'));
      expect(await kept.usage()).toMatchObject({ usedBytes: 0 });
      expect(await footprint(first, here.workspaceId)).toEqual(NOTHING);
    }
    await expectExactUsage(first.database);
  });
});
