import { randomUUID } from 'node:crypto';
import { Files, type ListedFile } from '../../../src/domain/files/index.js';
import { Versions } from '../../../src/domain/files/versions.service.js';
import { type Change, ChangeLogReader } from '../../../src/domain/sync/index.js';
import {
  sha256,
  startService,
  type TestService,
  type TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { itemsOf } from '../../kit/pages.js';
import { Random } from '../../kit/random.js';

const SEED = Number(process.env['SEED'] ?? 1);
const OPERATIONS = 40;
const PATHS = Array.from({ length: 16 }, (_, i) => `path-_${i}`);
/** A device may have any visible ASCII as its id, including what would end or change a JSON string. */
const DEVICES = [
  'laptop',
  '"',
  '\\',
  '\\"},{',
  'a\\u0041\\n',
  "it's",
  '</script>',
  '%s$1{}',
  '~'.repeat(128),
];
const LIMITS = [1, 7, 1000];
const TIMES = [
  '2026-01-01T00:00:00.000000Z',
  '2026-10-10T10:10:10.100000Z',
  '2026-12-31T23:59:59.119999Z',
  '2026-12-31T23:59:59.999999Z',
  '2028-02-29T12:30:00.000001Z',
];

let service: TestService;
let sync: ChangeLogReader;
let alice: TestUser;

beforeAll(async () => {
  service = await startService({ env: { LOG_LEVEL: 'silent' } });
  service.clock.stopAt(new Date('2026-02-28T23:59:59.000Z'));
  sync = service.app.get(ChangeLogReader);
  alice = await service.user('alice');
});
afterAll(() => service.close());

// There are two pairs of SQL statements: one returns rows to rooms and searches, the other JSON to clients.
describe('the equality of pull and snapshot as rows and as JSON text', () => {
  it(`holds from every cursor and every file of a random log of ${OPERATIONS} operations`, async () => {
    const workspace = await alice.workspace();
    await live(workspace.id, new Random(SEED));
    const { cursor: head } = await workspace.status();
    expect(head).toBeGreaterThan(OPERATIONS / 2);
    await comparePulls(workspace, head);
    await compareSnapshots(workspace);
  });

  it('holds for times that end in zeros or have more than milliseconds', async () => {
    const workspace = await alice.workspace();
    await live(workspace.id, new Random(SEED));
    for (const time of TIMES) {
      const at = [workspace.id, time];
      await service.database.query('UPDATE changes SET changed_at = $2 WHERE workspace_id = $1', at);
      await service.database.query(
        'UPDATE files SET created_at = $2, updated_at = $2 WHERE workspace_id = $1',
        at,
      );
      const { changes } = (await workspace.pull(0).expect(200)).body as { changes: { changedAt: string }[] };
      expect(changes.map(({ changedAt }) => changedAt)).toEqual(changes.map(() => `${time.slice(0, 23)}Z`));
      await compareSnapshots(workspace);
    }
  });

  it('holds for an empty workspace', async () => {
    const workspace = await alice.workspace();
    await comparePulls(workspace, 0);
    await compareSnapshots(workspace);
  });

  it('holds for a compacted log, and for one with the gap that a restored backup leaves', async () => {
    const workspace = await alice.workspace();
    const random = new Random(SEED);
    await live(workspace.id, random);
    const { cursor: before } = await workspace.status();
    const [id, floor] = [workspace.id, before - 5];
    const { query } = service.database;
    await query('UPDATE workspaces SET head_cursor = head_cursor + 10, compaction_floor = $2 WHERE id = $1', [
      id,
      floor,
    ]);
    await query('DELETE FROM changes WHERE workspace_id = $1 AND cursor < $2', [id, floor]);
    await live(id, random);
    const refused = await comparePulls(workspace, (await workspace.status()).cursor);
    // Below the floor, and within the gap without its edges.
    const expected = [...span(0, floor - 1), ...span(before + 1, before + 9)];
    expect(refused.slice(0, expected.length)).toEqual(expected);
    await compareSnapshots(workspace);
  });
});

/** Uploads, deletions and restores, as several devices would make them; some restores name no device. */
async function live(workspaceId: string, random: Random): Promise<void> {
  const files = service.app.get(Files);
  const versions = service.app.get(Versions);
  for (let i = 0; i < OPERATIONS; i++) {
    service.clock.advance(random.pick([0, 1, 10, 999, 1000, 5_000]));
    const [encryptedPath, deviceId, kind] = [random.pick(PATHS), random.pick(DEVICES), random.next()];
    if (kind < 0.6) {
      const content = Buffer.alloc(random.below(300), random.next().toString());
      const precondition = { ifMatch: null, ifAbsent: false };
      const upload = { workspaceId, encryptedPath, contentHash: sha256(content), deviceId, precondition };
      await files.upload(upload, once(content));
    } else if (kind < 0.8) {
      await files.delete(workspaceId, encryptedPath, deviceId).catch(ignoreMissing);
    } else {
      const known = await itemsOf(versions.list(workspaceId, encryptedPath)).catch(ignoreMissing);
      if (known)
        await versions.restore(
          workspaceId,
          encryptedPath,
          random.pick(known).id,
          random.pick([null, deviceId]),
        );
    }
  }
}

/** From before the first cursor to beyond the head. @returns the cursors that both refuse */
async function comparePulls(workspace: TestWorkspace, head: number): Promise<number[]> {
  const refused: number[] = [];
  for (let cursor = 0; cursor <= head + 2; cursor++) {
    for (const limit of LIMITS) {
      const text = await workspace.pull(cursor, limit);
      const rows = await pulledRows(workspace.id, cursor, limit);
      expect({ cursor, limit, ...answer(text) }).toEqual({ cursor, limit, ...rows });
      if (rows.status === 409 && limit === 1) refused.push(cursor);
    }
  }
  expect(refused.slice(-2)).toEqual([head + 1, head + 2]);
  return refused;
}

/** From before the first file to beyond the last, and from an id that no file has. */
async function compareSnapshots(workspace: TestWorkspace): Promise<void> {
  const { files } = await sync.snapshot(workspace.id, undefined, 1000);
  const cursors = [undefined, randomUUID(), ...files.map(({ id }) => id), `f${randomUUID().slice(1)}`];
  for (const pageCursor of cursors) {
    for (const limit of [...LIMITS, files.length - 1, files.length].filter((limit) => limit > 0)) {
      const text = await workspace.snapshot(pageCursor === undefined ? { limit } : { limit, pageCursor });
      const rows = await snapshotRows(workspace.id, pageCursor, limit);
      expect({ pageCursor, limit, ...answer(text) }).toEqual({ pageCursor, limit, ...rows });
    }
  }
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

const answer = ({ status, text }: Answer): Answer => ({ status, text });

async function pulledRows(workspaceId: string, cursor: number, limit: number): Promise<Answer> {
  try {
    const page = await sync.pull(workspaceId, cursor, limit);
    const changes = page.changes.map(changeWire);
    return { status: 200, text: JSON.stringify({ changes, cursor: page.cursor, hasMore: page.hasMore }) };
  } catch (error) {
    const { status, message, fields } = error as { status: number; message: string; fields: object };
    return { status, text: JSON.stringify({ error: message, ...fields }) };
  }
}

async function snapshotRows(workspaceId: string, after: string | undefined, limit: number): Promise<Answer> {
  const { files, cursor, hasMore } = await sync.snapshot(workspaceId, after, limit);
  const nextPageCursor = hasMore ? files.at(-1)?.id : null;
  return {
    status: 200,
    text: JSON.stringify({ files: files.map(fileWire), cursor, nextPageCursor, hasMore }),
  };
}

function changeWire(change: Change): object {
  const { encryptedPath, action, contentHash, encryptedSize, version, changedAt, changedByDevice } = change;
  return { encryptedPath, action, contentHash, encryptedSize, version, changedAt, changedByDevice };
}

function fileWire(file: ListedFile): object {
  const { id, encryptedPath, contentHash, encryptedSize, version, createdAt, updatedAt } = file;
  return { id, encryptedPath, contentHash, encryptedSize, version, createdAt, updatedAt };
}

/** Both included. */
const span = (first: number, last: number): number[] =>
  Array.from({ length: Math.max(last - first + 1, 0) }, (_, i) => first + i);

async function* once(content: Buffer): AsyncGenerator<Buffer> {
  yield content;
  await Promise.resolve();
}

function ignoreMissing(error: unknown): undefined {
  if ((error as { status?: number }).status !== 404) throw error;
}
