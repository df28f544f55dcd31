import fc from 'fast-check';
import { WorkspaceClosed } from '../../../src/access/index.js';
import { Subscriptions } from '../../../src/domain/billing/index.js';
import { DocumentQuota } from '../../../src/domain/files/document-quota.js';
import { GroupCommitQueue } from '../../../src/domain/files/group-commit-queue.js';
import { type Put, type PutOutcome, UploadWriter } from '../../../src/domain/files/upload-writer.js';
import { UploadLines } from '../../../src/domain/files/upload-lines.js';
import { KeyedCounter } from '../../../src/platform/async.js';
import { type RequestScope, requestScope } from '../../../src/platform/log.js';
import { heldOpen } from '../../kit/hold.js';
import { sha256, startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { waitPatiently } from '../../kit/patient-locks.js';
import { expectCountedDocuments, expectDenseLogs, expectReplayLaw } from '../../kit/oracles.js';
import { putOf } from '../../kit/put.js';
import { REFERENCE_UPLOAD } from '../../kit/reference-upload.js';

const GATE = 4712;

let service: TestService;
let other: TestService;
let queue: GroupCommitQueue;
let names = 0;
beforeAll(async () => {
  service = await startService();
  other = await startService({ beside: service });
  queue = service.app.get(GroupCommitQueue);
  await waitPatiently(service); // a commit waits for locks that a test holds, however long
});
afterAll(async () => {
  await other.close();
  await service.close();
});
afterEach(() => jest.restoreAllMocks());

const workspace = async (): Promise<TestWorkspace> => (await service.user(`user-${++names}`)).workspace();
const workspaces = (count: number): Promise<TestWorkspace[]> =>
  Promise.all(Array.from({ length: count }, workspace));

const putTo = (
  notes: TestWorkspace,
  path: string,
  content = `${path} ${notes.id}`,
  more: Partial<Put> = {},
): Put => ({ ...putOf(service, notes, path, content), ...more });

/** The first upload is committed at once; all others come while that commit is under way, and share the next one. */
async function sharing(puts: readonly Put[]): Promise<Promise<PutOutcome>[]> {
  const first = queue.put(putTo(await workspace(), 'first'));
  const outcomes = puts.map((put) => queue.put(put));
  for (const outcome of outcomes) outcome.catch(() => undefined);
  await first;
  return outcomes;
}

const CREATED = { outcome: 'created', version: 1, cursor: 1 };

async function withTrigger(condition: string, body: string, test: () => Promise<void>): Promise<void> {
  await service.database.query(`
    CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body}; RETURN NEW; END $$;
    CREATE TRIGGER meddle BEFORE INSERT ON files FOR EACH ROW WHEN (${condition}) EXECUTE FUNCTION meddle()`);
  await test();
  await service.database.query('DROP TRIGGER meddle ON files; DROP FUNCTION meddle');
}

async function commits(all: readonly TestWorkspace[]): Promise<number> {
  const [row] = await service.database.query<{ commits: number }>(
    'SELECT count(DISTINCT xmin::text)::int AS commits FROM changes WHERE workspace_id = ANY ($1)',
    [all.map(({ id }) => id)],
  );
  return row?.commits ?? 0;
}

describe('uploads to several workspaces at once', () => {
  it('share a commit, and each workspace has its own log', async () => {
    const all = await workspaces(12);
    const puts = [1, 2].flatMap((round) => all.map((notes) => putTo(notes, `path-${round}`)));
    const outcomes = await Promise.all(await sharing(puts));
    expect(await commits(all)).toBe(1);
    expect(outcomes).toMatchObject([
      ...all.map(() => CREATED),
      ...all.map(() => ({ ...CREATED, cursor: 2 })),
    ]);
    for (const notes of all) {
      expect(String((await notes.get('path-2').expect(200)).body)).toBe(`path-2 ${notes.id}`);
      await expectReplayLaw(notes);
    }
    await expectDenseLogs(service.database);
    await expectCountedDocuments(service.database);
  });

  it('fail alone when the database refuses them', async () => {
    const all = await workspaces(4);
    await withTrigger(`NEW.encrypted_path = 'poison'`, `RAISE EXCEPTION 'poison'`, async () => {
      const puts = all.flatMap((notes, i) => [
        putTo(notes, i === 2 ? 'poison' : 'path'),
        putTo(notes, 'next'),
      ]);
      const outcomes = await Promise.allSettled(await sharing(puts));
      expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual(
        puts.map(({ encryptedPath }) => encryptedPath !== 'poison'),
      );
      expect(outcomes[4]).toMatchObject({ reason: { message: 'poison' } });
    });
    for (const [i, notes] of all.entries()) expect((await notes.status()).cursor).toBe(i === 2 ? 1 : 2);
    await expectDenseLogs(service.database);
  });

  it('do not wait for a workspace that is locked', async () => {
    const [stuck, ...free] = await workspaces(4);
    const release = await heldOpen(
      service.database,
      'SELECT FROM workspaces WHERE id = $1 FOR NO KEY UPDATE',
      [stuck!.id],
    );
    const [late, ...others] = await sharing([stuck!, ...free].map((notes) => putTo(notes, 'path')));
    const behind = queue.put(putTo(stuck!, 'behind'));
    expect(await Promise.all(others)).toMatchObject(free.map(() => CREATED));
    expect(await queue.put(putTo(free[0]!, 'next'))).toMatchObject({ outcome: 'created', cursor: 2 });
    expect((await stuck!.status()).cursor).toBe(0);
    await release();
    expect(await Promise.all([late, behind])).toMatchObject([CREATED, { outcome: 'created', cursor: 2 }]);
    await expectDenseLogs(service.database);
  });

  it('do not wait for a commit that takes long', async () => {
    const [slow, ...free] = await workspaces(3);
    const body = `PERFORM pg_advisory_xact_lock(${GATE})`;
    await withTrigger(`NEW.encrypted_path = 'slow'`, body, async () => {
      const open = await heldOpen(service.database, 'SELECT pg_advisory_xact_lock($1)', [GATE]);
      const late = queue.put(putTo(slow!, 'slow'));
      const others = free.map((notes) => queue.put(putTo(notes, 'path')));
      expect(await Promise.all(others)).toMatchObject(free.map(() => CREATED));
      expect((await slow!.status()).cursor).toBe(0);
      await open();
      expect(await late).toMatchObject(CREATED);
    });
  });

  it('are refused only to callers without access', async () => {
    const [lapsed, foreign, gone, open] = await workspaces(4);
    await service.app.get(Subscriptions).grant(lapsed!.user.id, 'cancelled', null);
    await gone!.user.delete(gone!.path).expect(200);
    const stranger = { userId: open!.user.id, needsSubscription: true };
    const outcomes = await Promise.allSettled(
      await sharing([
        putTo(lapsed!, 'path'),
        putTo(foreign!, 'path', 'x', { caller: stranger }),
        putTo(foreign!, 'path', 'y'),
        putTo(gone!, 'path'),
        putTo(open!, 'path'),
      ]),
    );
    const closed = { status: 'rejected', reason: expect.any(WorkspaceClosed) };
    expect(outcomes).toMatchObject([closed, closed, { value: CREATED }, closed, { value: CREATED }]);
  });

  it('are stored once and in one order when two instances commit to the same workspaces', async () => {
    const all = await workspaces(8);
    const there = all.map((notes) => notes.as(notes.user.at(other.url)));
    const answers = await Promise.all(
      Array.from({ length: 160 }, (_, i) =>
        (i % 2 ? all : there)[(i >> 1) % 8]!.put(`path-${i % 5}`, `content ${i}`),
      ),
    );
    expect(answers.every(({ status }) => status === 200 || status === 201)).toBe(true);
    for (const notes of all) {
      expect((await notes.status()).cursor).toBe(20);
      await expectReplayLaw(notes);
    }
    await expectDenseLogs(service.database);
  });

  it('count for their user when committed alone, and for no user when they share a commit', async () => {
    const [stuck, free] = await workspaces(2);
    const writer = service.app.get(UploadWriter);
    const users: Record<string, (string | undefined)[]> = { write: [], writeUnlocked: [] };
    for (const method of ['write', 'writeUnlocked'] as const) {
      const original = writer[method].bind(writer) as (puts: readonly Put[]) => Promise<never>;
      jest.spyOn(writer, method).mockImplementation((puts) => {
        users[method]!.push(requestScope.getStore()?.userId);
        return original(puts);
      });
    }
    const release = await heldOpen(
      service.database,
      'SELECT FROM workspaces WHERE id = $1 FOR NO KEY UPDATE',
      [stuck!.id],
    );
    const sent = [await workspace(), stuck!, free!].map((notes) =>
      requestScope.run({ userId: notes.user.id } as RequestScope, () => queue.put(putTo(notes, 'path'))),
    );
    await Promise.all([sent[0], sent[2]]);
    await release();
    await sent[1];
    expect(users.write).toEqual([expect.any(String), stuck!.user.id]);
    expect(users.writeUnlocked).toEqual([undefined]);
  });

  it('do not wait for workspaces whose only upload waits for a lock, however many there are', async () => {
    const [free, ...stuck] = await workspaces(6);
    const ids = stuck.map(({ id }) => id);
    const release = await heldOpen(
      service.database,
      'SELECT FROM workspaces WHERE id = ANY ($1) FOR NO KEY UPDATE',
      [ids],
    );
    const late: Promise<PutOutcome>[] = [];
    for (const notes of stuck) {
      late.push(queue.put(putTo(notes, 'path')));
      await service.database.eventually(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
         HAVING count(*) = ${late.length}`,
      );
    }
    expect(await queue.put(putTo(free!, 'path'))).toMatchObject(CREATED);
    await release();
    expect(await Promise.all(late)).toMatchObject(stuck.map(() => CREATED));
  });
});

describe('a commit of many workspaces', () => {
  const upload = fc.record({
    path: fc.integer({ min: 0, max: 3 }),
    content: fc.integer({ min: 0, max: 2 }),
    ifMatch: fc.option(fc.array(fc.constantFrom('0', '1', '*'), { minLength: 0, maxLength: 2 }), { freq: 3 }),
    ifAbsent: fc.boolean(),
  });
  type Asked = typeof upload extends fc.Arbitrary<infer T> ? T : never;
  const group = fc.uniqueArray(upload, { selector: ({ path }) => path, maxLength: 4 });
  const steps = fc.array(fc.tuple(group, group, group), { minLength: 1, maxLength: 4 });
  /** A content has 9 bytes. */
  const quotas = fc.option(fc.integer({ min: 1, max: 60 }));

  const put = (notes: TestWorkspace, { path, content, ifMatch, ifAbsent }: Asked): Put => {
    const hashOf = (tag: number | string): string => sha256(`content ${tag}`);
    const tags = ifMatch && ifMatch.map((tag) => (tag === '*' ? tag : hashOf(tag)));
    return putTo(notes, `path-${path}`, `content ${content}`, { precondition: { ifMatch: tags, ifAbsent } });
  };

  it('leads to the same rows and answers as one upload after the other', async () => {
    await service.database.query(REFERENCE_UPLOAD);
    const quota = jest.spyOn(service.app.get(DocumentQuota), 'ofUploads', 'get');
    const isAsOneByOne = async (all: Asked[][][], bytes: number | null): Promise<void> => {
      quota.mockReturnValue(bytes);
      const [shared, single] = [await workspaces(3), await workspaces(3)];
      for (const groups of all) {
        // Uploads of the workspaces alternate.
        const asked = groups.flatMap((uploads, at) => uploads.map((one, nth) => ({ at, one, nth })));
        asked.sort((a, b) => a.nth - b.nth);
        if (asked.length === 0) continue;
        const together = await writtenByPart(asked.map(({ at, one }) => put(shared[at]!, one)));
        const apart: unknown[] = [];
        for (const { at, one } of asked) apart.push(await uploaded(put(single[at]!, one), bytes));
        expect(together.map(told)).toEqual(apart.map(told));
      }
      for (const [at, notes] of shared.entries())
        expect(await written(notes)).toEqual(await written(single[at]!));
    };
    await fc.assert(fc.asyncProperty(steps, quotas, isAsOneByOne), { numRuns: 40, seed: 20261127 });
  });

  /** Writes all uploads at once, or part by part where workspaces are on nodes. */
  async function writtenByPart(puts: readonly Put[]): Promise<unknown[]> {
    const writer = service.app.get(UploadWriter);
    const parts = await Promise.all(puts.map(({ workspaceId }) => writer.partOf(workspaceId)));
    const outcomes = Array<unknown>(puts.length);
    for (const part of new Set(parts)) {
      const places = [...puts.keys()].filter((place) => parts[place] === part);
      const written = await writer.writeUnlocked(places.map((place) => puts[place]!));
      for (const [n, place] of places.entries()) outcomes[place] = written[n];
    }
    return outcomes;
  }

  const told = (outcome: unknown): unknown => {
    const { outcome: what, version, cursor, usedBytes } = outcome as Record<string, unknown>;
    const numberOf = (value: unknown): number | null =>
      value === null || value === undefined ? null : Number(value);
    return { what, version, cursor: numberOf(cursor), usedBytes: numberOf(usedBytes) };
  };

  async function uploaded(
    { workspaceId, precondition, bytes, ...row }: Put,
    quota: number | null,
  ): Promise<unknown> {
    const text = `SELECT outcome, file_version AS version, change_cursor AS cursor, used_bytes AS "usedBytes"
      FROM reference_upload($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 0, $13)`;
    const { encryptedPath, contentHash, size, deviceId, now, fileId, versionId, blobId } = row;
    const values = [workspaceId, encryptedPath, contentHash, size, deviceId, now, fileId, versionId, blobId];
    const { ifMatch, ifAbsent } = precondition;
    return (await service.database.query(text, [...values, bytes, ifMatch, ifAbsent, quota]))[0];
  }

  function written({ id }: TestWorkspace): Promise<unknown[]> {
    const texts = [
      'SELECT head_cursor, live_files, document_bytes FROM workspaces WHERE id = $1',
      'SELECT encrypted_path, content_hash, encrypted_size, version, is_deleted FROM files WHERE workspace_id = $1 ORDER BY encrypted_path',
      `SELECT f.encrypted_path, v.version, v.content_hash, v.change_cursor, c.action, c.version, b.state, b.size, b.sha256, b.bytes
       FROM versions v JOIN files f ON f.workspace_id = v.workspace_id AND f.id = v.file_id
       JOIN blobs b ON b.workspace_id = v.workspace_id AND b.id = v.blob_id
       JOIN changes c ON c.workspace_id = v.workspace_id AND c.cursor = v.change_cursor AND c.file_id = f.id
       WHERE v.workspace_id = $1 ORDER BY v.change_cursor`,
    ];
    return Promise.all(texts.map((text) => service.database.query(text, [id])));
  }
});

describe('owners', () => {
  const waiting = (owner: string, workspaceId: string, path: string, size = 1) => ({
    owner,
    since: 0,
    isCounted: true,
    scope: undefined,
    resolve: () => undefined,
    reject: () => undefined,
    put: { workspaceId, caller: undefined, encryptedPath: path, bytes: Buffer.alloc(size) } as unknown as Put,
  });

  it('take turns in a shared commit, and so do the workspaces of one owner', () => {
    const counts = new KeyedCounter();
    const lines = new UploadLines(counts);
    for (let i = 0; i < 150; i++) lines.add(waiting('busy', `busy-${i % 2}`, `path-${i}`));
    lines.add(waiting('quiet', 'quiet', 'path'));
    const batch = lines.take();
    expect(batch).toHaveLength(64);
    const counted = (workspaceId: string): number =>
      batch.filter(({ put }) => put.workspaceId === workspaceId).length;
    expect([counted('quiet'), counted('busy-0'), counted('busy-1')]).toEqual([1, 32, 31]);
    expect(counts.total).toBe(151 - 64);
    expect(lines.take()).toEqual([]); // their next uploads wait for that commit
    for (const workspaceId of ['busy-0', 'busy-1', 'quiet']) lines.release(workspaceId);
    expect(lines.take()).toHaveLength(64);
  });

  it('do not fill a commit with large uploads while others wait', () => {
    const lines = new UploadLines();
    for (let i = 0; i < 50; i++) lines.add(waiting('busy', `busy-${i}`, 'path', 64 * 1024));
    for (let i = 0; i < 5; i++) lines.add(waiting(`quiet-${i}`, `quiet-${i}`, 'path'));
    const owners = new Set(lines.take().map(({ owner }) => owner));
    expect(owners.size).toBe(6);
  });
});
