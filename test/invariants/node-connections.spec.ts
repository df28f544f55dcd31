import pg from 'pg';
import { NodeRouter } from '../../src/platform/database/distribution/index.js';
import { PlannerStatistics, statement } from '../../src/platform/database/index.js';
import { isEngineThere } from '../kit/distributed-database.js';
import { createDatabase, startService, type TestDatabase } from '../kit/index.js';

const WORKSPACE = '01900000-0000-7000-8000-000000000001';
/** It only has to name the function of uploads, so that the connection is prepared for it. */
const upload = statement('test.upload_on_node', `SELECT id FROM workspaces WHERE id = $1 -- put_documents(`, {
  onShard: `SELECT id FROM workspaces WHERE id = $1 /* put_documents( */`,
});

(isEngineThere ? describe : describe.skip)('a connection to a node', () => {
  let database: TestDatabase;
  let coordinator: pg.Pool;
  let router: NodeRouter;
  beforeAll(async () => {
    database = await createDatabase();
    coordinator = new pg.Pool({ connectionString: database.url, max: 1 });
    router = new NodeRouter({
      coordinator,
      url: database.url,
      onPoolError: () => undefined,
      onChange: () => undefined,
    });
  });
  afterAll(async () => {
    await router.end();
    await coordinator.end();
    await database.drop();
  });

  it('that ends while it is lent and idle fails the statement, and not the process', async () => {
    await router.run(statement('test.any_on_node', 'SELECT id FROM workspaces WHERE id = $1'), [WORKSPACE]);
    const only = await coordinator.connect(); // the definitions of the functions wait for it
    const result = router.run(upload, [WORKSPACE]).then(
      () => 'answered',
      () => 'refused',
    );
    const { rows } = await only.query<{ host: string; port: number }>(
      `SELECT nodename AS host, nodeport AS port FROM pg_dist_node WHERE groupid <> 0`,
    );
    for (const { host, port } of rows) await endConnections(host, port);
    only.release();
    expect(await result).toBe('refused');
    expect(await router.run(upload, [WORKSPACE])).toEqual([]);
  });

  /** Those of the router on one node. */
  async function endConnections(host: string, port: number): Promise<void> {
    const url = new URL(database.url);
    [url.hostname, url.port] = [host, String(port)];
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    await client.query(
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
       WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
         AND application_name NOT LIKE 'citus%'`,
    );
    await client.end();
  }
});

(isEngineThere ? describe : describe.skip)('the statistics of a table of a node', () => {
  it('are made anew when it has outgrown them, as those of a table that is in one piece', async () => {
    const service = await startService();
    try {
      const workspace = await (await service.user('alice')).workspace();
      await service.database.query(
        `INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
         SELECT $1, gen_random_uuid(), 'live', 'inline', 1, repeat('0', 64), 'x', now() FROM generate_series(1, 3100)`,
        [workspace.id],
      );
      await service.app.get(PlannerStatistics).keepUp();
      const [known] = await service.database.query<{ rows: number }>(
        `SELECT max(result::float) AS rows
         FROM run_command_on_placements('blobs', 'SELECT reltuples FROM pg_class WHERE oid = ''%s''::regclass')`,
      );
      expect(known?.rows).toBe(3100);
    } finally {
      await service.close();
    }
  });
});
