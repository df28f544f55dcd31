import { createHash } from 'node:crypto';
import { DISTRIBUTED_TABLES, knownStatements } from '../../src/platform/database/index.js';
import { text } from '../kit/deployment.js';
import { startService, type TestService } from '../kit/index.js';

/** What became of a statement on a real engine; `npm run engine-statements` writes the file. */
interface Result {
  readonly hash: string;
  readonly nodes: 'none' | 'one' | 'all' | 'unknown';
  readonly error: string | null;
  readonly onItsNode?: { readonly hash: string; readonly error: string | null };
}

/** Are not run there. */
const FOR_ONE_SERVER = ['files.put_together', 'workspaces.delete_all_of_user'];

/** Statements of one workspace that are nevertheless about all nodes, or about none. */
const results = JSON.parse(text('test/contract/engine-statements.json')) as Record<string, Result>;

const hashOf = (sql: string): string => createHash('sha256').update(sql).digest('hex').slice(0, 16);

const DISTRIBUTED = new RegExp(
  `\\b(?:${DISTRIBUTED_TABLES.map(({ table }) => table).join('|')}|put_\\w+|shared_commits)\\b`,
);

/** The engine passes statements of the coordinator's own tables on to PostgreSQL as they are: they are not tried. */
const own = () =>
  knownStatements().filter(({ name, text: sql }) => !name.startsWith('test.') && DISTRIBUTED.test(sql));

let service: TestService;
beforeAll(async () => {
  service = await startService(); // its modules have all statements
});
afterAll(() => service.close());

describe('the statements on an engine that distributes tables (npm run engine-statements refreshes the file)', () => {
  it('are all in the file with the text that was tried, and nothing else is', () => {
    const now = own().map(({ name, text: sql, onNodes, onShard }) => [
      name,
      hashOf(onNodes ?? sql),
      onShard === undefined ? undefined : hashOf(onShard),
    ]);
    const tried = Object.entries(results).map(([name, { hash, onItsNode }]) => [name, hash, onItsNode?.hash]);
    expect(now.sort()).toEqual(tried.sort());
  });

  it('succeed there', () => {
    const failed = Object.entries(results).filter(([, { error, onItsNode }]) => error ?? onItsNode?.error);
    expect(failed.map(([name]) => name)).toEqual(FOR_ONE_SERVER);
  });

  it('go to one node when they are sent there', () => {
    const sent = Object.entries(results).filter(([, { onItsNode }]) => onItsNode);
    expect(sent.length).toBeGreaterThan(10);
    expect(sent.filter(([, { nodes }]) => nodes !== 'one')).toEqual([]);
  });
});
