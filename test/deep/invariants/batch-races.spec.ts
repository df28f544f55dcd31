import { BatchSlots } from '../../../src/domain/files/batches/batch-upload.js';
import { Suspensions } from '../../../src/domain/auth/index.js';
import { Subscriptions } from '../../../src/domain/billing/index.js';
import { COMMIT_UPLOADS } from '../../../src/domain/files/index.js';
import { KillSwitch } from '../../../src/platform/kill-switch.js';
import { Retention } from '../../../src/domain/retention/index.js';
import { BlobSweeper } from '../../../src/platform/storage/index.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import {
  begunBatch,
  cborSequence,
  downloadBatch,
  downloaded,
  firstGroup,
  type SentItem,
  upload,
  uploadBatch,
} from '../../kit/batches.js';
import {
  eventually,
  sha256,
  startService,
  type TestService,
  type TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { expectReplayLaw, scrub } from '../../kit/oracles.js';
import { headOf, openSocket } from '../../kit/raw-http.js';
import { Random } from '../../kit/random.js';
import { trials } from '../../kit/trials.js';
import { expectLawsOfTables } from '../../kit/model/laws.js';

const ROUNDS = trials(5);
const DAY = 24 * 60 * 60_000;

let first: TestService;
let second: TestService;
let turn = 0;
beforeAll(async () => {
  // Some contents are kept in the blob store.
  const env = { LOG_LEVEL: 'silent', INLINE_BLOB_BYTES: '2000' };
  first = await startService({ env });
  second = await startService({ beside: first, env });
});
afterAll(async () => {
  await second.close();
  await first.close();
});

/** A fresh workspace, as seen through each of the two instances. */
async function workspaces(): Promise<[TestWorkspace, TestWorkspace]> {
  const alice = await first.user(`alice-${turn++}`);
  const workspace = await alice.workspace();
  return [workspace, workspace.as(alice.at(second.url))];
}

const times = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i));

interface Result {
  readonly encryptedPath: string;
  readonly status: number;
  readonly version: number | null;
}

async function resultsOf(workspace: TestWorkspace, items: readonly SentItem[]): Promise<readonly Result[]> {
  const { body } = await uploadBatch(workspace, items).expect(200);
  return (body as { results: Result[] }).results;
}

async function inRounds(work: (round: number) => Promise<void>): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await work(round);
}

describe('concurrent batches', () => {
  it('and PUTs with the same If-Match succeed once, and each batch stores its other items', () =>
    inRounds(async () => {
      const both = await workspaces();
      const { body } = await both[0].put('path', 'base').expect(201);
      const ifMatch = String(body.contentHash);
      const statuses = await Promise.all(
        times(16, async (i) => {
          const notes = both[i % 2]!;
          if (i % 4 > 1) return (await notes.put('path', `put ${i}`).set('If-Match', `"${ifMatch}"`)).status;
          const items = [
            upload(`before${i}`, 'x'),
            upload('path', `batch ${i}`, { ifMatch }),
            upload(`after${i}`, 'x'),
          ];
          const [before, contested, after] = await resultsOf(notes, items);
          expect([before?.status, after?.status]).toEqual([201, 201]);
          return contested!.status;
        }),
      );
      expect(statuses.toSorted()).toEqual([200, ...Array<number>(15).fill(412)]);
      expect(await both[0].versions('path')).toHaveLength(2);
      expect((await both[1].status()).cursor).toBe(2 + 16);
      await expectReplayLaw(both[0]);
    }));

  it('create one version of each item, however often the same batch is sent', () =>
    inRounds(async () => {
      const both = await workspaces();
      const items = times(150, (i) => upload(`note${i}`, Buffer.alloc(i % 10 === 0 ? 3_000 : 10, i)));
      const all = await Promise.all(
        times(6, (i) => resultsOf(both[i % 2]!, i % 3 === 2 ? items.toReversed() : items)),
      );
      expect(all.flat().every(({ status, version }) => status <= 201 && version === 1)).toBe(true);
      expect(all.flat().filter(({ status }) => status === 201)).toHaveLength(150);
      expect(await both[0].status()).toEqual({ cursor: 150, fileCount: 150 });
      const blobs = await first.database.query('SELECT FROM blobs WHERE workspace_id = $1', [both[0].id]);
      expect(blobs).toHaveLength(150);
    }));

  it('keep the log dense beside PUTs, deletions, pushes, restores and retention', async () => {
    await inRounds(async (round) => {
      const random = new Random(round);
      const both = await workspaces();
      const paths = times(12, (i) => `note${i}`);
      await resultsOf(
        both[0],
        paths.map((path) => upload(path, `first of ${path}`)),
      );
      await resultsOf(
        both[0],
        paths.map((path) => upload(path, `second of ${path}`)),
      );
      const oldest = await Promise.all(paths.map(async (path) => (await both[0].versions(path)).at(-1)!.id));
      const batch = (i: number): SentItem[] =>
        paths
          .toSorted(() => random.next() - 0.5)
          .map((path, n) => upload(path, Buffer.alloc(n === 0 ? 3_000 : 20, `${i} ${n}`)));
      const statuses = await Promise.all(
        times(30, async (i) => {
          const [notes, path] = [both[i % 2]!, random.pick(paths)];
          if (i % 6 < 2) return (await uploadBatch(notes, batch(i), `device-${i}`)).status;
          if (i % 6 === 2) return (await notes.put(path, `put ${i}`)).status;
          if (i % 6 === 3) return (await notes.delete(path)).status;
          if (i % 6 === 4) return (await notes.push(24, [path, random.pick(paths)])).status;
          const at = random.below(paths.length);
          return (await notes.restore(paths[at]!, oldest[at]!)).status;
        }).concat(
          first.app
            .get(Retention)
            .run(new Date(first.clock.now().getTime() + 40 * DAY))
            .then(() => 200),
        ),
      );
      expect(statuses.filter((status) => ![200, 201, 404].includes(status))).toEqual([]);
      for (const { encryptedPath, status, content, contentHash } of await downloaded(both[1], paths))
        expect([encryptedPath, status === 200 ? sha256(Buffer.from(content!)) : null]).toEqual([
          encryptedPath,
          contentHash,
        ]);
      await expectReplayLaw(both[0]);
    });
    await scrub(first.database, first.dataDir);
  });

  it('leave nothing in a workspace that is deleted meanwhile', () =>
    inRounds(async () => {
      const both = await workspaces();
      const batches = times(6, (i) =>
        uploadBatch(
          both[i % 2]!,
          times(130, (n) => upload(`note${i}-${n}`, Buffer.alloc(n % 20 ? 10 : 3_000, n))),
        ),
      );
      const answers = await Promise.all([...batches, deletedWhenOneIsThere(both[1])]);
      expect(answers.slice(0, -1).filter(({ status }) => ![200, 404].includes(status))).toEqual([]);
      await expectEmptied(both[0].id);
    }));

  afterAll(() => expectLawsOfTables(first.database));
});

/** Deletes a workspace as soon as something is in it. */
async function deletedWhenOneIsThere(workspace: TestWorkspace) {
  await first.database.eventually(`SELECT FROM workspaces WHERE id = '${workspace.id}' AND head_cursor > 0`);
  return workspace.user.delete(workspace.path).expect(200);
}

/** Bytes of uploads that the deletion has overtaken are removed by the next sweep. */
async function expectEmptied(workspaceId: string): Promise<void> {
  await eventually(async () => {
    for (const { app } of [first, second]) await app.get(WorkspacePurge).finish();
    await first.app.get(BlobSweeper).sweep(new Date(first.clock.now().getTime() + DAY));
    for (const table of ['files', 'versions', 'changes', 'blobs'])
      expect([
        table,
        await first.database.query(`SELECT FROM ${table} WHERE workspace_id = $1`, [workspaceId]),
      ]).toEqual([table, []]);
  });
}

/** The mode applies when the service has read it. */
async function setReadOnly(killSwitch: KillSwitch): Promise<void> {
  await killSwitch.set('read-only');
  await eventually(() => expect(killSwitch.mode).toBe('read-only'));
}

describe('between two groups of one batch', () => {
  const REST = times(COMMIT_UPLOADS, (i) => upload(`rest${i}`, `${i}`));

  /** A workspace that is used with an access token, and a function that revokes it. */
  async function withToken(): Promise<{
    notes: TestWorkspace;
    owner: TestUser;
    revoke: () => Promise<unknown>;
  }> {
    const [notes] = await workspaces();
    const owner = notes.user;
    const { body } = await owner.post('/api/v1/auth/tokens').send({ name: 'laptop' }).expect(201);
    const revoke = async (): Promise<unknown> => owner.delete(`/api/v1/auth/tokens/${body.id}`).expect(200);
    return { notes: notes.as(owner.at(first.url, String(body.token))), owner, revoke };
  }

  afterEach(async () => {
    for (const { app } of [first, second]) {
      await app.get(KillSwitch).set('off');
      await eventually(() => expect(app.get(KillSwitch).mode).toBe('off'));
    }
  });

  it.each<[string, number, (one: Awaited<ReturnType<typeof withToken>>) => Promise<unknown>]>([
    ['a revoked token', 401, ({ revoke }) => revoke()],
    ['a suspended account', 403, ({ owner }) => second.app.get(Suspensions).suspend(owner.id)],
    [
      'an ended subscription',
      402,
      ({ owner }) => second.app.get(Subscriptions).grant(owner.id, 'cancelled', null),
    ],
    ['the kill switch', 503, () => setReadOnly(first.app.get(KillSwitch))],
    ['the deletion of the workspace', 404, ({ notes, owner }) => owner.at(second.url).delete(notes.path)],
  ])('%s ends it', async (what, status, happen) => {
    const one = await withToken();
    const finish = await begunBatch(first.database, one.notes, REST);
    await happen(one);
    first.clock.advance(5_000);
    const answer = await finish();
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ error: expect.any(String) });
    if (what.startsWith('the deletion')) return expectEmptied(one.notes.id);
    const changes = await first.database.query('SELECT FROM changes WHERE workspace_id = $1', [one.notes.id]);
    expect(changes).toHaveLength(COMMIT_UPLOADS);
  });

  it('a cut connection leaves what was committed, and the batch can be sent again', async () => {
    const [notes] = await workspaces();
    const socket = openSocket(first.url);
    const sequence = cborSequence([...firstGroup(), ...REST]);
    const Authorization = `Bearer ${notes.user.token}`;
    const headers = {
      Host: 'x',
      Authorization,
      'X-Device-Id': 'laptop',
      'Content-Length': String(sequence.length),
    };
    socket.write(headOf('POST', `${notes.path}/files/batch-upload`, headers));
    socket.write(sequence.subarray(0, -1));
    await first.database.eventually(
      `SELECT FROM workspaces WHERE id = '${notes.id}' AND head_cursor >= ${COMMIT_UPLOADS}`,
    );
    socket.destroy();
    await eventually(() => expect(first.app.get(BatchSlots, { strict: false }).taken).toBe(0));
    const { cursor } = await notes.status();
    expect(cursor % COMMIT_UPLOADS).toBe(0);
    const results = await resultsOf(notes, [...firstGroup(), ...REST]);
    expect(results.map(({ status, version }) => [status, version])).toEqual(
      results.map((_, i) => [i < cursor ? 200 : 201, 1]),
    );
    expect((await notes.status()).cursor).toBe(results.length);
  });

  it('a batch download reads nothing of a workspace to which its caller has lost access', async () => {
    const { notes, owner } = await withToken();
    await notes.put('path', 'content').expect(201);
    const items = [{ encryptedPath: 'path' }];
    await downloadBatch(notes, items).expect(200); // from now on access is checked in the statement alone
    await second.app.get(Suspensions).suspend(owner.id);
    await downloadBatch(notes, items).expect(403);
    await second.app.get(Suspensions).resume(owner.id);
    await downloadBatch(notes, items).expect(200);
    await notes.user.at(second.url, owner.token).delete(notes.path).expect(200);
    await downloadBatch(notes, items).expect(404);
  });

  it('the passing of five seconds does not end it', async () => {
    const { notes } = await withToken();
    const finish = await begunBatch(first.database, notes, REST);
    first.clock.advance(5_000);
    const { status, body } = await finish();
    expect(status).toBe(200);
    expect((body as { results: Result[] }).results.map((result) => result.status)).toEqual(
      Array<number>(firstGroup().length + REST.length).fill(201),
    );
  });
});
