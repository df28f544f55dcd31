import pg from 'pg';
import { openSnapshots, SNAPSHOT } from '../../../src/operations/backup/restores.js';
import { Database } from '../../../src/platform/database/index.js';
import { eventually, startService, type TestService } from '../../kit/index.js';
import { itDeep } from '../../kit/rounds.js';

let service: TestService;
let backup: pg.Client;
let writer: pg.Client;
beforeAll(async () => {
  service = await startService();
  [backup, writer] = [0, 1].map(() => new pg.Client(service.database.url)) as [pg.Client, pg.Client];
  await Promise.all([backup.connect(), writer.connect()]);
});
afterAll(async () => {
  await Promise.all([backup.end(), writer.end()]);
  await service.close();
});
beforeEach(() => jest.spyOn(Database.prototype, 'isDistributed', 'get').mockReturnValue(true));
afterEach(() => jest.restoreAllMocks());

const WAITS = `SELECT 1 FROM pg_locks WHERE relation = 'shared_commits'::regclass AND NOT granted`;

const opened = (): Promise<void> => openSnapshots(service.app.get(Database), backup);

it('a backup of nodes begins when no commit on several nodes is under way, and delays none', async () => {
  await service.database.query('CREATE TABLE written (id integer)');
  await writer.query('BEGIN; DELETE FROM shared_commits; INSERT INTO written VALUES (1)');

  await backup.query(SNAPSHOT);
  const opening = opened();
  await eventually(async () => expect(await service.database.query(WAITS)).toHaveLength(1));
  await writer.query('COMMIT');
  await opening;
  await writer.query('BEGIN; DELETE FROM shared_commits; INSERT INTO written VALUES (2); COMMIT');

  const { rows } = await backup.query('SELECT id FROM written');
  await backup.query('COMMIT');
  expect(rows).toEqual([{ id: 1 }]);
});

itDeep('a backup of nodes does not begin while a commit on several nodes hangs', async () => {
  await writer.query('BEGIN; DELETE FROM shared_commits');
  await backup.query(SNAPSHOT);
  await expect(opened()).rejects.toThrow('cannot begin');
  await backup.query('ROLLBACK');
  await writer.query('ROLLBACK');
});
