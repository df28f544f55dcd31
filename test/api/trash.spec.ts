import { sha256, startService, type TestService, type TestWorkspace } from '../kit/index.js';

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
  it('lists what is deleted, when and as what, until it comes alive', async () => {
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

  it('comes in pages', async () => {
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

  it('needs no subscription, and no more than documents:read', async () => {
    const { body } = await workspace.user
      .post('/api/v1/auth/tokens')
      .send({ name: 'writer', scopes: ['documents:write'] })
      .expect(201);
    await workspace.user.at(service.url, body.token).get(`${workspace.path}/trash`).expect(403);
    await service.database.query('DELETE FROM subscriptions');
    await workspace.user.get(`${workspace.path}/trash`).expect(200);
  });

  it('reads a page of a hundred thousand by its index alone', async () => {
    await service.database.query(
      `INSERT INTO files (workspace_id, id, encrypted_path, content_hash, encrypted_size, version, is_deleted, created_at, updated_at)
       SELECT $1, gen_random_uuid(), 'p' || i, repeat('a', 64), 1, 1, true, now(), now() FROM generate_series(1, 100000) i`,
      [workspace.id],
    );
    const blocksBefore = await blocksRead();
    const { files, hasMore } = await trash({ limit: 10 });
    expect([files.length, hasMore]).toEqual([10, true]);
    expect((await blocksRead()) - blocksBefore).toBeLessThan(1_000);
  });
});

async function blocksRead(): Promise<number> {
  const [row] = await service.database.query<{ rows: string }>(
    `SELECT pg_stat_force_next_flush(), seq_tup_read + idx_tup_fetch AS rows FROM pg_stat_user_tables WHERE relname = 'files'`,
  );
  return Number(row?.rows);
}
