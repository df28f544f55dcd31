import pg from 'pg';
import { ShardRouter } from '../../../src/platform/database/distribution/index.js';
import { ofWorkspace, PlannerStatistics } from '../../../src/platform/database/index.js';
import { isEngineThere } from '../../kit/distributed-database.js';
import { createDatabase, startService, type TestDatabase } from '../../kit/index.js';

const WORKSPACE = '01900000-0000-7000-8000-000000000001';
const read = ofWorkspace('test.read_on_node', 'SELECT id FROM {workspaces} WHERE id = $1');

(isEngineThere ? describe : describe.skip)('a connection to a node', () => {
  let database: TestDatabase;
  let coordinator: pg.Pool;
  let router: ShardRouter;
  beforeAll(async () => {
    database = await createDatabase();
    coordinator = new pg.Pool({ connectionString: database.url, max: 1 });
    const onPoolError = (): void => undefined;
    router = new ShardRouter({ coordinator, url: database.url, functions: [], onPoolError });
  });
  afterAll(async () => {
    await router.end();
    await coordinator.end();
    await database.drop();
  });

  it('that ends while it is checked out and idle fails the next statement, and not the process', async () => {
    const { client, run, release } = await router.begin(WORKSPACE);
    const ended = new Promise<void>((resolve) => void client.once('end', resolve));
    const { host, port } = client;
    const url = new URL(database.url);
    [url.hostname, url.port] = [host, String(port)];
    const other = new pg.Client({ connectionString: url.href });
    await other.connect();
    await other.query(
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
       WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
         AND application_name NOT LIKE 'citus%'`,
    );
    await other.end();
    await ended;
    const failure: unknown = await run(read, [WORKSPACE]).catch((error: unknown) => error);
    release(failure as Error);
    expect(failure).toBeInstanceOf(Error);
    expect(await router.run(WORKSPACE, read, [WORKSPACE])).toEqual([]);
  });
});

(isEngineThere ? describe : describe.skip)('the statistics of a table on a node', () => {
  it('are renewed when the table has outgrown them, like those of any other table', async () => {
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
