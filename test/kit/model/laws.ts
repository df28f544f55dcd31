import { expectExactUsage } from '../assets.js';
import type { TestDatabase } from '../index.js';
import { DEVICES } from './intentions.js';
import type { Operation } from './operations.js';
import { living, type Workspace } from './state.js';
import { type Belief, lookAt, type Reality } from './steps.js';

/** New devices: one reads the whole log, the other walks the snapshot and continues from there. */
const READER = 'reader';
const WALKER = 'walker';

const BY_OWNER = { by: 'owner', at: 0 } as const;

/** Everything visible in an account equals the model, and obeys laws that hold whatever the model says. */
export async function expectLaws(belief: Belief, reality: Reality): Promise<void> {
  const [state] = belief.worlds;
  await lookAt(belief, reality, [
    { kind: 'list workspaces', ...BY_OWNER },
    { kind: 'list tokens', ...BY_OWNER, at: 1 },
  ]);
  for (const workspace of living(state!)) {
    await lookAt(belief, reality, everythingIn(workspace));
    await expectExactAssets(belief, reality, workspace.name);
    await expectReplayLaw(belief, reality, workspace.name);
  }
}

/** The same on the tables, for all accounts in a database. */
export async function expectLawsOfTables(database: Pick<TestDatabase, 'query'>): Promise<void> {
  // One by one, because an engine that distributes tables cannot join them in one statement.
  for (const [law, broken] of Object.entries(BROKEN_LAWS))
    expect([law, await database.query(`SELECT 1 FROM (${broken}) broken LIMIT 1`)]).toEqual([law, []]);
  await expectExactUsage(database);
}

/**
 * Queries for rows that break a law when no work is in progress. Old versions may have been thinned. The row
 * of a deleted workspace stays for as long as the bytes of an upload.
 */
const BROKEN_LAWS = {
  'cursors are dense': `
    SELECT w.id, w.head_cursor, count(c.cursor) AS rows, max(c.cursor) AS highest
    FROM workspaces w LEFT JOIN changes c ON c.workspace_id = w.id
    WHERE w.deleted_at IS NULL GROUP BY w.id HAVING w.head_cursor <> count(c.cursor) OR w.head_cursor <> coalesce(max(c.cursor), 0)`,
  'every version was made by its change': `
    SELECT v.id FROM versions v LEFT JOIN changes c
      ON c.workspace_id = v.workspace_id AND c.cursor = v.change_cursor AND c.file_id = v.file_id AND c.version = v.version
      AND c.content_hash = v.content_hash AND c.action = 'upsert'
    WHERE c.cursor IS NULL`,
  'the newest version of a file is there': `
    SELECT f.id FROM files f LEFT JOIN versions v
      ON v.workspace_id = f.workspace_id AND v.file_id = f.id AND v.version = f.version AND v.content_hash = f.content_hash
    WHERE v.id IS NULL`,
  'every version has its bytes': `
    SELECT v.id FROM versions v LEFT JOIN blobs b ON b.workspace_id = v.workspace_id AND b.id = v.blob_id
    WHERE b.state IS DISTINCT FROM 'live' OR b.sha256 <> v.content_hash OR b.size <> v.encrypted_size`,
  'live files are counted': `
    SELECT w.id FROM workspaces w
    WHERE w.deleted_at IS NULL AND w.live_files <> (SELECT count(*) FROM files f WHERE f.workspace_id = w.id AND NOT f.is_deleted)`,
  'a deleted workspace is empty': `
    SELECT 1 FROM workspaces w WHERE w.deleted_at IS NOT NULL AND (
      EXISTS (SELECT 1 FROM changes WHERE workspace_id = w.id) OR EXISTS (SELECT 1 FROM versions WHERE workspace_id = w.id) OR
      EXISTS (SELECT 1 FROM files WHERE workspace_id = w.id) OR EXISTS (SELECT 1 FROM checkpoints WHERE workspace_id = w.id) OR EXISTS (SELECT 1 FROM key_slots WHERE workspace_id = w.id))`,
  'no nightly job failed': 'SELECT name, error FROM job_runs WHERE error IS NOT NULL',
};

/** After the deletion of all accounts none of their data is left. */
export async function expectNothingLeft(database: Pick<TestDatabase, 'query'>): Promise<void> {
  const tables = [
    'workspaces',
    'files',
    'versions',
    'changes',
    'checkpoints',
    'key_slots',
    'assets',
    'blobs',
    'access_tokens',
  ];
  const counts = tables.map((table) => `(SELECT count(*)::int FROM ${table}) AS ${table}`);
  const [left] = await database.query(`SELECT ${counts.join(', ')}`);
  expect(left).toEqual(Object.fromEntries(tables.map((table) => [table, 0])));
}

/** Operations that download every version and read every projection of every checkpoint. */
function everythingIn({ name, files, checkpoints }: Workspace): Operation[] {
  const place = { ...BY_OWNER, workspace: name };
  const ofPaths = files.flatMap(({ path, versions }): Operation[] => [
    { kind: 'get', ...place, at: 1, path },
    { kind: 'list versions', ...place, path },
    ...versions.map(({ version }): Operation => ({ kind: 'get version', ...place, path, version })),
  ]);
  const ofCheckpoints = checkpoints.flatMap(({ name: checkpoint }): Operation[] => [
    { kind: 'summary', ...place, checkpoint, from: null },
    { kind: 'manifest', ...place, at: 1, checkpoint },
    ...files.map(({ path }): Operation => ({ kind: 'note state', ...place, checkpoint, path })),
  ]);
  return [
    ...ofPaths,
    ...ofCheckpoints,
    { kind: 'status', ...place },
    { kind: 'list checkpoints', ...place },
    { kind: 'list slots', ...place, at: 1 },
  ];
}

/** The usage of the account equals the sum of its listings. */
async function expectExactAssets(belief: Belief, reality: Reality, workspace: string): Promise<void> {
  const names = living(belief.worlds[0]!).map(({ name }) => name);
  const lists = names.map((name): Operation => ({ kind: 'list assets', ...BY_OWNER, workspace: name }));
  const [usage, ...listings] = await lookAt(belief, reality, [
    { kind: 'usage', ...BY_OWNER, workspace },
    ...lists,
  ]);
  const sizes = listings
    .flatMap(({ body }) => body as { sizeBytes: number }[])
    .map(({ sizeBytes }) => sizeBytes);
  expect(usage?.body).toMatchObject({ usedBytes: sizes.reduce((sum, size) => sum + size, 0) });
}

/** The log, the listing, the snapshot and every following device have the same files. */
async function expectReplayLaw(belief: Belief, reality: Reality, workspace: string): Promise<void> {
  const { account } = reality;
  const place = { ...BY_OWNER, workspace };
  const [listing] = await lookAt(belief, reality, [{ kind: 'list files', ...place }]);
  const { files } = listing?.body as {
    files: { encrypted_path: string; content_hash: string; version: number }[];
  };
  const live = files.map((file): [string, string] => [
    file.encrypted_path,
    `${file.version} ${file.content_hash}`,
  ]);

  const walker = account.follower(workspace, WALKER);
  do {
    const after = walker.after;
    await lookAt(belief, reality, [{ kind: 'snapshot', ...place, at: 1, device: WALKER, limit: '3', after }]);
  } while (walker.after !== null);
  const devices = [...DEVICES, READER, WALKER];
  await Promise.all(devices.map((device) => catchUp(belief, reality, { workspace, device })));
  for (const device of devices) {
    const { mirror } = account.follower(workspace, device);
    expect({ device, mirror }).toEqual({ device, mirror: new Map(live) });
  }
}

async function catchUp(
  belief: Belief,
  reality: Reality,
  { workspace, device }: { workspace: string; device: string },
): Promise<void> {
  const follower = reality.account.follower(workspace, device);
  for (let hasMore = true; hasMore;) {
    const { cursor } = follower;
    const pull = { kind: 'pull', ...BY_OWNER, workspace, device, cursor, limit: 20 } as const;
    const [answer] = await lookAt(belief, reality, [pull]);
    ({ hasMore } = answer?.body as { hasMore: boolean });
  }
}
