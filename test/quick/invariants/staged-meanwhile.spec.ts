import pg from 'pg';
import { Blobs } from '../../../src/platform/storage/index.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { startService, type TestService, type TestWorkspace } from '../../kit/index.js';

let service: TestService;
let holder: pg.Client;
beforeAll(async () => {
  service = await startService({ env: { INLINE_BLOB_BYTES: '0' } });
  holder = new pg.Client({ connectionString: service.database.url });
  await holder.connect();
});
afterAll(async () => {
  await holder.end();
  await service.close();
});

const waitsFor = (text: string): Promise<void> =>
  service.database.eventually(
    `SELECT 1 FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%${text}%'`,
  );

async function* body(): AsyncGenerator<Buffer> {
  await Promise.resolve();
  yield Buffer.from('content');
}

/** A workspace that is marked as deleted and still has its row. */
async function deleted(name: string): Promise<TestWorkspace> {
  const workspace = await (await service.user(name)).workspace();
  await service.database.query('UPDATE workspaces SET deleted_at = now() WHERE id = $1', [workspace.id]);
  return workspace;
}

const blobsOf = ({ id }: TestWorkspace): Promise<unknown[]> =>
  service.database.query('SELECT state FROM blobs WHERE workspace_id = $1', [id]);

describe('the purge of a workspace', () => {
  it('keeps the row of the workspace while a blob is being staged for it', async () => {
    const workspace = await deleted('staged-first');
    await holder.query('BEGIN');
    // Stands for an upload that was admitted before the deletion and has not committed yet.
    await holder.query(
      `INSERT INTO blobs (workspace_id, id, state, location, created_at)
       SELECT w.id, gen_random_uuid(), 'staged', 'disk', now() FROM workspaces w WHERE w.id = $1 FOR KEY SHARE`,
      [workspace.id],
    );
    const purge = service.app.get(WorkspacePurge);
    purge.begin({ id: workspace.id, userId: null });
    await waitsFor('FOR UPDATE');
    await holder.query('COMMIT');
    await purge.idle();
    expect(await blobsOf(workspace)).toHaveLength(1);
    expect(
      await service.database.query('SELECT id FROM workspaces WHERE id = $1', [workspace.id]),
    ).toHaveLength(1);
  });

  it('lets no blob be staged once the row is being removed', async () => {
    const workspace = await deleted('removed-first');
    await holder.query('BEGIN');
    await holder.query('DELETE FROM workspaces WHERE id = $1', [workspace.id]);
    const staged = expect(service.app.get(Blobs).stage(workspace.id, body())).rejects.toThrow(
      'workspace not found',
    );
    await waitsFor('KEY SHARE');
    await holder.query('COMMIT');
    await staged;
    expect(await blobsOf(workspace)).toEqual([]);
  });
});
