import { BEFORE_ALL_IDS, Database } from '../../../src/platform/database/index.js';
import { pageStatements } from '../../../src/domain/sync/sync.queries.js';
import { sha256, startService, type TestService, type TestWorkspace } from '../../kit/index.js';

interface TrashPage {
  files: { id: string; encrypted_path: string; deleted_at: string }[];
  nextPageCursor: string | null;
  hasMore: boolean;
}

let service: TestService;
let workspace: TestWorkspace;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());
beforeEach(async () => {
  workspace = await (await service.user('alice')).workspace();
});

const trash = async (query: Record<string, string | number> = {}): Promise<TrashPage> =>
  (await workspace.user.get(`${workspace.path}/trash`).query(query).expect(200)).body;

describe('GET /api/v1/workspaces/:id/trash', () => {
  it('lists deleted files with their deletion time and last content, until they are revived', async () => {
    expect(await trash()).toEqual({ files: [], nextPageCursor: null, hasMore: false });
    await workspace.put('YQ', 'one').expect(201);
    const { body } = await workspace.put('YQ', 'three').expect(200);
    await workspace.put('Yg', 'live').expect(201);
    service.clock.stopAt(new Date('2026-03-09T10:11:12.345Z'));
    await workspace.delete('YQ').expect(200);
    service.clock.stopAt(new Date());
    expect(await trash()).toEqual({
      files: [
        {
          id: body.id,
          encrypted_path: 'YQ',
          content_hash: sha256('three'),
          encrypted_size: 5,
          version: 2,
          deleted_at: '2026-03-09T10:11:12.345Z',
        },
      ],
      nextPageCursor: null,
      hasMore: false,
    });
    const [version] = await workspace.versions('YQ');
    await workspace.restore('YQ', version!.id).expect(200);
    expect((await trash()).files).toEqual([]);
  });

  it('returns pages', async () => {
    const paths = ['a', 'b', 'c', 'd', 'e'];
    for (const path of paths) await workspace.put(path, path).expect(201);
    await workspace.push(5, paths).expect(200);
    const seen: string[] = [];
    for (let pageCursor: string | null = ''; pageCursor !== null;) {
      const page: TrashPage = await trash({ limit: 2, pageCursor });
      expect(page.hasMore).toBe(page.nextPageCursor !== null);
      seen.push(...page.files.map(({ encrypted_path }) => encrypted_path));
      pageCursor = page.nextPageCursor;
    }
    expect(seen).toEqual(paths);
  });

  it('needs no subscription, and only documents:read', async () => {
    const { body } = await workspace.user
      .post('/api/v1/auth/tokens')
      .send({ name: 'writer', scopes: ['documents:write'] })
      .expect(201);
    await workspace.user.at(service.url, body.token).get(`${workspace.path}/trash`).expect(403);
    await service.database.query('DELETE FROM subscriptions');
    await workspace.user.get(`${workspace.path}/trash`).expect(200);
  });

  it('reads a page by its index alone, however many live files come before it', async () => {
    const { id, user } = workspace;
    await service.database.query(
      `INSERT INTO files (workspace_id, id, encrypted_path, blob_id, content_hash, encrypted_size, version, is_deleted, created_at, updated_at)
       SELECT $1, (lpad(to_hex(i), 8, '0') || '-0000-4000-8000-000000000000')::uuid, 'p' || i, gen_random_uuid(), repeat('a', 64), 1, 1, i > 20000, now(), now()
       FROM generate_series(1, 20020) i`,
      [id],
    );
    const { files, hasMore } = await trash({ limit: 10 });
    expect([files.map(({ encrypted_path }) => encrypted_path), hasMore]).toEqual([
      Array.from({ length: 10 }, (_, i) => `p${20_001 + i}`),
      true,
    ]);
    const plans = await service.app.get(Database).transaction(async ({ manager }) => {
      await manager.query(`PREPARE trash AS ${pageStatements.trash.text}`);
      const [row] = await manager.query<[{ 'QUERY PLAN': [{ Plan: PlanNode }] }]>(
        `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE trash ('${id}', '${BEFORE_ALL_IDS}', 10, '${user.id}', now(), NULL)`,
      );
      await manager.query('DEALLOCATE trash');
      return row['QUERY PLAN'];
    });
    expect(filesRead(plans[0].Plan)).toBe(10 + 1); // one to know that there are more
  });
});

interface PlanNode {
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

/** Rows of `files` that were read, including those that a filter removed. */
function filesRead(node: PlanNode): number {
  const below = (node.Plans ?? []).reduce((sum, child) => sum + filesRead(child), 0);
  if (node['Relation Name'] !== 'files') return below;
  return below + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
}
