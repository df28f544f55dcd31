import fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { lockLog } from '../../../src/domain/files/index.js';
import { GroupCommitQueue } from '../../../src/domain/files/group-commit-queue.js';
import { Database } from '../../../src/platform/database/index.js';
import { DatabaseLink } from '../../kit/database-link.js';
import {
  createDatabase,
  eventually,
  sha256,
  startService,
  type TestService,
  type TestWorkspace,
} from '../../kit/index.js';
import { expectDenseLogs, expectReplayLaw, scrub } from '../../kit/oracles.js';
import { waitPatiently } from '../../kit/patient-locks.js';
import { REFERENCE_UPLOAD } from '../../kit/reference-upload.js';
import { describeDeep, rounds } from '../../kit/rounds.js';

const COUNT = 120;

let service: TestService;
let names = 0;
beforeAll(async () => {
  service = await startService();
  await waitPatiently(service); // uploads wait for locks that a test holds
});
afterAll(() => service.close());

const workspace = async (at = service): Promise<TestWorkspace> =>
  (await at.user(`user-${++names}`)).workspace();

const times = <T>(n: number, make: (i: number) => PromiseLike<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: n }, (_, i) => make(i)));

/** How many transactions have written a workspace's log. */
async function commits(notes: TestWorkspace): Promise<number> {
  const [row] = await service.database.query<{ commits: number }>(
    'SELECT count(DISTINCT xmin::text)::int AS commits FROM changes WHERE workspace_id = $1',
    [notes.id],
  );
  return row?.commits ?? 0;
}

/** Keeps a workspace's log locked, as a slow writer elsewhere would. @returns a function that unlocks it */
async function locked(notes: TestWorkspace): Promise<() => Promise<void>> {
  let letGo = (): void => undefined;
  const released = new Promise<void>((resolve) => (letGo = resolve));
  let writing: Promise<void> | undefined;
  await new Promise<void>((resolve, reject) => {
    writing = service.app.get(Database).transaction(async (tx) => {
      await lockLog(tx, notes.id);
      resolve();
      await released;
    });
    writing.catch(reject);
  });
  return async () => {
    letGo();
    await writing;
  };
}

describe('uploads to one workspace at once', () => {
  it('share commits, with the same sizes, versions and bytes as alone, without cursor gaps', async () => {
    const notes = await workspace();
    const contents = Array.from({ length: COUNT }, (_, i) =>
      randomBytes(i % 50 === 0 ? 100_000 : (i * 37) % 3000),
    );
    const release = await locked(notes);
    const sent = times(COUNT, (i) => notes.put(`file-${i}`, contents[i]!));
    await eventually(() => expect(service.app.get(GroupCommitQueue).waiting).toBe(COUNT - 1));
    await release();
    expect((await sent).map(({ status }) => status)).toEqual(Array<number>(COUNT).fill(201));
    expect(await commits(notes)).toBeLessThan(10);
    for (const [i, content] of contents.entries())
      expect(((await notes.get(`file-${i}`).expect(200)).body as Buffer).equals(content)).toBe(true);
    await scrub(service.database, service.dataDir);
    await expectDenseLogs(service.database);
    await expectReplayLaw(notes);
  });

  it('of one path take turns: with If-Match one succeeds, all get a version each without', async () => {
    const notes = await workspace();
    await notes.put('path', 'first').expect(201);
    const matching = await times(30, (i) =>
      notes.put('path', `match-${i}`).set('If-Match', `"${sha256('first')}"`),
    );
    expect(matching.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(matching.filter(({ status }) => status === 412)).toHaveLength(29);
    const absent = await times(30, (i) => notes.put('new', `absent-${i}`).set('If-None-Match', '*'));
    expect(absent.filter(({ status }) => status === 201)).toHaveLength(1);
    const plain = await times(30, (i) => notes.put('path', `plain-${i}`));
    const versions = plain.map(({ body }) => (body as { version: number }).version).sort((a, b) => a - b);
    expect(versions).toEqual(Array.from({ length: 30 }, (_, i) => i + 3));
    await expectReplayLaw(notes);
  });

  it('are 412 with an If-Match that is not a content hash, even one that contains "*"', async () => {
    const notes = await workspace();
    await times(20, (i) => notes.put(`path-${i}`, 'kept').expect(201));
    const release = await locked(notes);
    const sent = times(20, (i) => notes.put(`path-${i}`, 'overwritten').set('If-Match', '"x,*"'));
    await eventually(() => expect(service.app.get(GroupCommitQueue).waiting).toBe(19)); // to share a commit
    await release();
    expect(new Set((await sent).map(({ status }) => status))).toEqual(new Set([412]));
  });

  it('fail alone when the database refuses them', async () => {
    const notes = await workspace();
    await service.database.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'poison'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON files FOR EACH ROW WHEN (NEW.encrypted_path = 'poison') EXECUTE FUNCTION refuse()`);
    const release = await locked(notes);
    const sent = times(60, (i) => notes.put(i === 30 ? 'poison' : `file-${i}`, `content-${i}`));
    await eventually(() => expect(service.app.get(GroupCommitQueue).waiting).toBe(59)); // for the first
    await release();
    const answers = await sent;
    expect(answers[30]?.status).toBe(500);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(59);
    expect((await notes.status()).fileCount).toBe(59);
    await expectDenseLogs(service.database);
    await service.database.query('DROP TRIGGER refuse ON files; DROP FUNCTION refuse');
  });

  it('do not wait for those to another workspace', async () => {
    const [stuck, free] = [await workspace(), await workspace()];
    const release = await locked(stuck);
    const waiting = times(5, (i) => stuck.put(`file-${i}`, 'content'));
    await free.put('file', 'content').expect(201);
    expect((await stuck.status()).cursor).toBe(0);
    await release();
    expect((await waiting).map(({ status }) => status)).toEqual(Array<number>(5).fill(201));
  });

  it('are 503 with Retry-After above the limit for one user, and delay no other user', async () => {
    const notes = await workspace();
    const all = [notes, await notes.user.workspace()];
    const other = await workspace();
    await other.put('before', 'x').expect(201);
    const releases = await Promise.all(all.map(locked));
    const writing = Promise.all(all.map((one) => one.put('first', 'x').ok(() => true)));
    await service.database.eventually(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' HAVING count(*) = 2`,
    );
    const waiting = times(215, (i) =>
      all[i % 2]!.put(`file-${i}`, i % 16 < 14 ? 'x' : Buffer.alloc(70_000, i)).ok(() => true),
    );
    await eventually(() => expect(service.app.get(GroupCommitQueue).waiting).toBe(200));
    const { body, headers } = await notes.put('file-1', 'x').expect(503);
    expect(body).toEqual({ error: 'too many uploads at once: wait for your own requests to finish' });
    expect(headers['retry-after']).toBe('1');
    await other.put('file', 'x').expect(201);
    await Promise.all(releases.map((release) => release()));
    const answers = [...(await writing), ...(await waiting)];
    const statuses = new Set(answers.map(({ status }) => status));
    expect([...statuses].every((status) => [201, 503].includes(status))).toBe(true);
    const counts = await Promise.all(all.map(async (one) => (await one.status()).fileCount));
    const stored = counts.reduce((sum, count) => sum + count);
    expect(stored).toBe(answers.filter(({ status }) => status === 201).length);
    await scrub(service.database, service.dataDir);
  });

  it('are 503 after ten seconds of waiting, and are then not stored', async () => {
    const notes = await workspace();
    const release = await locked(notes);
    const first = notes.put('first', 'x').ok(() => true);
    const queue = service.app.get(GroupCommitQueue);
    const before = queue.waiting;
    const late = times(3, (i) => notes.put(`late-${i}`, 'x').ok(() => true));
    await eventually(() => {
      expect(queue.waiting).toBeGreaterThan(before);
    });
    service.clock.advance(10_001);
    await release();
    const statuses = [await first, ...(await late)].map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([201, 503]));
    expect((await notes.status()).fileCount).toBe(statuses.filter((status) => status === 201).length);
    await notes.put('late-0', 'x').expect(({ status }) => {
      expect([200, 201]).toContain(status);
    });
  });
});

describeDeep('uploads that share a commit', () => {
  /** One upload; there are few paths and contents, so that uploads collide. */
  const upload = fc.record({
    path: fc.integer({ min: 0, max: 7 }),
    content: fc.integer({ min: 0, max: 3 }),
    ifMatch: fc.option(fc.array(fc.constantFrom('0', '1', '*'), { minLength: 0, maxLength: 2 }), { freq: 3 }),
    ifAbsent: fc.boolean(),
    staged: fc.constantFrom('inline' as const, 'staged' as const, 'gone' as const),
  });
  type Asked = typeof upload extends fc.Arbitrary<infer T> ? T : never;
  const together = fc.uniqueArray(upload, { selector: ({ path }) => path, minLength: 1, maxLength: 8 });

  const groups = fc.array(fc.record({ deletion: fc.nat(7), group: together }), {
    minLength: 1,
    maxLength: 5,
  });

  /** A content has 9 bytes, and another workspace holds 5. */
  const quotas = fc.option(fc.integer({ min: 0, max: 100 }));

  /** The reference is a function that decides one upload step by step. */
  it('lead to the same rows and answers as one by one', async () => {
    await service.database.query(REFERENCE_UPLOAD);
    const isAsOneByOne = async (
      steps: { deletion: number; group: Asked[] }[],
      quota: number | null,
      isDeletedAtLast: boolean,
    ) => {
      const [grouped, single] = [await workspace(), await workspace()];
      for (const [index, { deletion, group }] of steps.entries()) {
        const isLast = index === steps.length - 1;
        for (const { id } of [grouped, single]) {
          await markFileDeleted(id, deletion);
          if (isLast && isDeletedAtLast) await markDeleted(id);
        }
        expect(await putTogether(grouped.id, group, quota)).toEqual(
          await putOneByOne(single.id, group, quota),
        );
      }
      expect(await written(grouped.id)).toEqual(await written(single.id));
    };
    await fc.assert(fc.asyncProperty(groups, quotas, fc.boolean(), isAsOneByOne), {
      numRuns: rounds(15, 60),
      seed: 20261120,
    });
  });

  const hashOf = (content: number | string): string => sha256(`content ${content}`);
  const markDeleted = (id: string): Promise<unknown> =>
    service.database.query('UPDATE workspaces SET deleted_at = updated_at WHERE id = $1', [id]);

  const markFileDeleted = (id: string, path: number): Promise<unknown> =>
    service.database.query(
      `WITH gone AS (
         UPDATE files SET is_deleted = true WHERE workspace_id = $1 AND encrypted_path = $2 AND NOT is_deleted RETURNING id
       ) UPDATE workspaces SET live_files = live_files - 1 WHERE id = $1 AND EXISTS (SELECT FROM gone)`,
      [id, `path-${path}`],
    );

  /** Stages an upload as the service does: one in the store has a row already, unless it was swept. */
  async function prepared(workspaceId: string, asked: Asked) {
    const bytes = Buffer.from(`content ${asked.content}`);
    const blobId = uuidv7();
    if (asked.staged === 'staged') {
      const text = `INSERT INTO blobs (workspace_id, id, state, location, created_at) VALUES ($1, $2, 'staged', 'disk', $3)`;
      await service.database.query(text, [workspaceId, blobId, service.clock.now()]);
    }
    const row = [`path-${asked.path}`, hashOf(asked.content), bytes.length, 'device', service.clock.now()];
    const ids = [uuidv7(), uuidv7(), blobId];
    return { row: [...row, ...ids], bytes: asked.staged === 'inline' ? bytes : null };
  }

  const matches = ({ ifMatch }: Asked): string[] | null =>
    ifMatch && ifMatch.map((tag) => (tag === '*' ? tag : hashOf(tag)));

  async function putTogether(
    workspaceId: string,
    group: readonly Asked[],
    quota: number | null,
  ): Promise<unknown[]> {
    const all = await Promise.all(group.map((asked) => prepared(workspaceId, asked)));
    const columns = Array.from({ length: 8 }, (_, column) => all.map(({ row }) => row[column]));
    const text = `SELECT outcome, file_version AS version, change_cursor AS cursor, used_bytes AS "usedBytes"
      FROM put_documents($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 5, $14)`;
    return service.database.query(text, [
      ...[workspaceId, ...columns, Buffer.concat(all.flatMap(({ bytes }) => bytes ?? []))],
      ...[
        all.map(({ bytes }) => bytes?.length ?? null),
        group.map((asked) => matches(asked)?.join(',') ?? null),
      ],
      group.map(({ ifAbsent }) => ifAbsent),
      quota,
    ]);
  }

  async function putOneByOne(
    workspaceId: string,
    group: readonly Asked[],
    quota: number | null,
  ): Promise<unknown[]> {
    const answers: unknown[] = [];
    for (const asked of group) {
      const { row, bytes } = await prepared(workspaceId, asked);
      const text = `SELECT outcome, file_version AS version, change_cursor AS cursor, used_bytes AS "usedBytes"
        FROM reference_upload($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 5, $13)`;
      const values = [workspaceId, ...row, bytes, matches(asked), asked.ifAbsent, quota];
      answers.push(...(await service.database.query(text, values)));
    }
    return answers;
  }

  /** The content of a workspace's tables, without ids. */
  async function written(workspaceId: string): Promise<unknown[]> {
    const texts = [
      'SELECT head_cursor, live_files, document_bytes FROM workspaces WHERE id = $1',
      'SELECT encrypted_path, content_hash, encrypted_size, version, is_deleted FROM files WHERE workspace_id = $1 ORDER BY encrypted_path',
      `SELECT f.encrypted_path, v.version, v.content_hash, v.encrypted_size, v.device_id, v.change_cursor, b.state, b.location, b.size, b.sha256, b.bytes
       FROM versions v JOIN files f ON f.workspace_id = v.workspace_id AND f.id = v.file_id JOIN blobs b ON b.workspace_id = v.workspace_id AND b.id = v.blob_id
       WHERE v.workspace_id = $1 ORDER BY v.change_cursor`,
      `SELECT c.cursor, f.encrypted_path, c.action, c.content_hash, c.encrypted_size, c.version, c.changed_by_device
       FROM changes c JOIN files f ON f.workspace_id = c.workspace_id AND f.id = c.file_id WHERE c.workspace_id = $1 ORDER BY c.cursor`,
      'SELECT state, count(*)::int AS count FROM blobs WHERE workspace_id = $1 GROUP BY state ORDER BY state',
    ];
    return Promise.all(texts.map((text) => service.database.query(text, [workspaceId])));
  }
});

describeDeep('a connection that is lost during a shared commit', () => {
  it('leaves each upload complete or absent, and a retry stores it once', async () => {
    const database = await createDatabase();
    const link = await DatabaseLink.to(database);
    const linked = await startService({ env: { DATABASE_URL: link.url } });
    const notes = await workspace(linked);
    for (let round = 0; round < 3; round++) {
      const sent = times(40, (i) => notes.put(`file-${round}-${i}`, `content-${i}`).ok(() => true));
      await link.cut();
      await link.mend();
      await sent;
      for (let i = 0; i < 40; i++)
        await eventually(() =>
          notes.put(`file-${round}-${i}`, `content-${i}`).expect(({ status }) => {
            if (status !== 200 && status !== 201) throw new Error(String(status));
          }),
        );
    }
    const rows = await database.query<{ versions: number }>('SELECT max(version) AS versions FROM files');
    expect(rows).toEqual([{ versions: 1 }]);
    await expectDenseLogs(database);
    await linked.close();
    await link.cut();
    await database.drop();
  });
});
