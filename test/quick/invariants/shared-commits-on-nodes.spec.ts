import { v7 as uuidv7 } from 'uuid';
import { GroupCommitQueue } from '../../../src/domain/files/group-commit-queue.js';
import { type Put, UploadWriter } from '../../../src/domain/files/upload-writer.js';
import { Database } from '../../../src/platform/database/index.js';
import { isEngineThere } from '../../kit/distributed-database.js';
import { startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { expectReplayLaw } from '../../kit/oracles.js';
import { putOf } from '../../kit/put.js';

const CREATED = { outcome: 'created', version: 1, cursor: 1 };

(isEngineThere ? describe : describe.skip)('uploads to several workspaces of one part at once', () => {
  let service: TestService;
  let writer: UploadWriter;
  let all: TestWorkspace[];

  beforeAll(async () => {
    service = await startService({ env: { DOCUMENT_QUOTA_PRO_BYTES: '0' } });
    writer = service.app.get(UploadWriter);
    const made: TestWorkspace[] = [];
    for (let n = 0; n < 40; n++) made.push(await (await service.user(`user-${n}`)).workspace());
    const parts = await Promise.all(made.map(({ id }) => writer.partOf(id)));
    all = made.filter((_, n) => parts[n] === parts[0]);
  });
  afterAll(() => service.close());

  const putTo = (notes: TestWorkspace, path: string, more: Partial<Put> = {}): Put => ({
    ...putOf(service, notes, path),
    ...more,
  });

  it('share a commit', async () => {
    expect(all.length).toBeGreaterThan(1);
    const outcomes = await writer.writeUnlocked(all.map((notes) => putTo(notes, 'first')));
    expect(outcomes).toMatchObject(all.map(() => CREATED));
    const ids = all.map(({ id }) => id);
    const rows = await service.database.query<{ xmin: string }>(
      'SELECT DISTINCT xmin::text FROM changes WHERE workspace_id = ANY ($1)',
      [ids],
    );
    expect(rows).toHaveLength(1);
    for (const notes of all) await expectReplayLaw(notes);
  });

  it('leave out a caller who is not the owner, one who is suspended, and one without a subscription', async () => {
    const [foreign, suspended, lapsed, ...open] = all as [TestWorkspace, TestWorkspace, TestWorkspace];
    const { database } = service;
    await database.query('UPDATE users SET suspended_at = now() WHERE id = $1', [suspended.user.id]);
    await database.query(`UPDATE subscriptions SET status = 'expired' WHERE user_id = $1`, [lapsed.user.id]);
    const stranger = { userId: uuidv7(), needsSubscription: true };
    const outcomes = await writer.writeUnlocked([
      putTo(foreign, 'left-out', { caller: stranger }),
      putTo(suspended, 'left-out'),
      putTo(lapsed, 'left-out'),
      ...open.map((notes: TestWorkspace) => putTo(notes, 'kept')),
    ]);
    expect(outcomes.slice(0, 3)).toEqual([undefined, undefined, undefined]);
    expect(outcomes.slice(3)).toMatchObject(open.map(() => ({ outcome: 'created' })));
    await database.query('UPDATE users SET suspended_at = NULL WHERE id = $1', [suspended.user.id]);
    await database.query(`UPDATE subscriptions SET status = 'trial' WHERE user_id = $1`, [lapsed.user.id]);
  });

  it('are stored when the database refuses one of them, which fails alone', async () => {
    const { database } = service;
    await database.query(`ALTER TABLE files ADD CONSTRAINT refused CHECK (encrypted_path <> 'poison')`);
    const queue = service.app.get(GroupCommitQueue);
    const write = jest.spyOn(writer, 'writeUnlocked');
    const first = queue.put(putTo(all[0]!, 'before'));
    const outcomes = await Promise.allSettled([
      first,
      ...all.map((notes, n) => queue.put(putTo(notes, n === 1 ? 'poison' : 'beside'))),
    ]);
    await database.query('ALTER TABLE files DROP CONSTRAINT refused');
    expect(write).toHaveBeenCalled();
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      ...all.map((_, n) => (n === 1 ? 'rejected' : 'fulfilled')),
    ]);
  });

  it('are each stored once, on the new node, when their shard has moved', async () => {
    const [{ id }] = all as [TestWorkspace];
    const [shard] = await service.database.query<{ id: string; port: number; other: number }>(
      `SELECT p.shardid::text AS id, n.nodeport AS port,
              (SELECT max(o.nodeport) FROM pg_dist_node o WHERE o.groupid > 0 AND o.nodeport <> n.nodeport) AS other
       FROM pg_dist_placement p JOIN pg_dist_node n USING (groupid)
       WHERE p.shardid = get_shard_id_for_distribution_column('workspaces', $1::text)`,
      [id],
    );
    await service.database.query(
      `SELECT citus_move_shard_placement($1::bigint, '127.0.0.1', $2, '127.0.0.1', $3, 'block_writes')`,
      [shard!.id, shard!.port, shard!.other],
    );
    const queue = service.app.get(GroupCommitQueue);
    const outcomes = await Promise.all(all.map((notes) => queue.put(putTo(notes, 'after-the-move'))));
    expect(outcomes).toMatchObject(all.map(() => ({ outcome: 'created' })));
    expect((await service.app.get(Database).placeOf(id)).node).toBe(`127.0.0.1:${shard!.other}`);
    for (const notes of all) await expectReplayLaw(notes);
  });
});
