import { RowsCheck } from '../../../src/domain/files/rows-check.js';
import { TABLES_WITH_BLOBS } from '../../../src/platform/storage/blobs.queries.js';
import { startService, type TestService, type TestWorkspace } from '../../kit/index.js';

let service: TestService;
let users = 0;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

async function findings(fix = false): Promise<string[]> {
  const examination = { now: new Date(), isDeep: false, fix };
  const found: string[] = [];
  for await (const { fault, subject, problem, isFixed } of service.app.get(RowsCheck).examine(examination))
    found.push(`${fault}: ${subject}: ${problem}${isFixed ? ' fixed' : ''}`);
  return found;
}

/** A workspace with a file of two versions and a deleted file. */
async function workspace(): Promise<TestWorkspace> {
  const made = await (await service.user(`rows-${++users}`)).workspace();
  for (const content of ['one', 'two']) await made.put('kept', content);
  await made.put('deleted', 'three');
  await made.delete('deleted');
  return made;
}

/** The planted fault, the statement that plants it, and the report of the doctor. */
const FAULTS: [planted: string, sql: string, problem: RegExp][] = [
  [
    'a version without its file',
    'UPDATE versions SET file_id = gen_random_uuid() WHERE workspace_id = $1 AND version = 1 AND file_id IN (SELECT file_id FROM versions WHERE workspace_id = $1 AND version = 2)',
    /^dangling rows: .* 1 versions belong to a file that does not exist/,
  ],
  [
    'a version without its blob',
    'UPDATE versions SET blob_id = gen_random_uuid() WHERE workspace_id = $1 AND version = 1 AND file_id IN (SELECT file_id FROM versions WHERE workspace_id = $1 AND version = 2)',
    /^dangling rows: .* 1 versions refer to a blob that does not exist/,
  ],
  [
    'a change without its file',
    'UPDATE changes SET file_id = gen_random_uuid() WHERE workspace_id = $1 AND cursor = 1',
    /^dangling rows: .* 1 changes belong to a file that does not exist/,
  ],
  [
    'a head without its version',
    'UPDATE files SET version = 9 WHERE workspace_id = $1 AND NOT is_deleted',
    /^dangling rows: .* 1 files have no version of their number/,
  ],
  [
    'another blob of a head',
    'UPDATE files SET blob_id = gen_random_uuid() WHERE workspace_id = $1 AND NOT is_deleted',
    /^repeated value differs: .* 1 files differ from their newest version/,
  ],
  [
    'another path of a change',
    `UPDATE changes SET path = path || 'x' WHERE workspace_id = $1 AND cursor = 2`,
    /^repeated value differs: .* 1 changes differ from their file in the path/,
  ],
];

describe('the doctor, on rows without a foreign key,', () => {
  it('finds nothing in a workspace with several versions and a deleted file', async () => {
    await workspace();
    expect(await findings()).toEqual([]);
  });

  it.each(FAULTS)('finds %s', async (_, sql, problem) => {
    const { id } = await workspace();
    await service.database.query(sql, [id]);
    const found = (await findings()).filter((line) => line.includes(id));
    expect(found).toEqual([expect.stringMatching(problem)]);
    await service.database.query('UPDATE workspaces SET deleted_at = now() WHERE id = $1', [id]);
  });

  it.each(FAULTS.slice(4))('corrects %s', async (_, sql, problem) => {
    const { id } = await workspace();
    await service.database.query(sql, [id]);
    expect((await findings(true)).filter((line) => line.includes(id))).toEqual([
      expect.stringMatching(problem),
    ]);
    expect((await findings()).filter((line) => line.includes(id))).toEqual([]);
  });

  it.each(['blobs', 'files', 'versions', 'changes'])('finds %s without their workspace', async (table) => {
    const { id } = await workspace();
    const other = '00000000-0000-4000-8000-000000000000';
    await service.database.query(`UPDATE ${table} SET workspace_id = $2 WHERE workspace_id = $1`, [
      id,
      other,
    ]);
    expect(await findings()).toContain(
      `dangling rows: ${table} of workspace ${other}: The workspace of these rows does not exist.`,
    );
    if (table === 'blobs') {
      await service.database.query(
        "UPDATE blobs SET state = 'dying', not_before = now() WHERE workspace_id = $1",
        [other],
      );
      expect((await findings()).join()).not.toContain(other); // the sweep removes it
      await service.database.query("UPDATE blobs SET state = 'live' WHERE workspace_id = $1", [other]);
    }
    await service.database.query(`UPDATE ${table} SET workspace_id = $1 WHERE workspace_id = $2`, [
      id,
      other,
    ]);
  });
});

describe('the tables that refer to blobs', () => {
  it('are listed, except for `files`, whose heads repeat a version', async () => {
    const rows = await service.database.query<{ table: string }>(
      `SELECT table_name AS "table" FROM information_schema.columns
       WHERE table_schema = current_schema() AND column_name ~ 'blob_id$' ORDER BY 1`,
    );
    expect(rows.map(({ table }) => table)).toEqual([...TABLES_WITH_BLOBS, 'files'].sort());
  });
});
