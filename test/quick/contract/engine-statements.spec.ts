import { createHash } from 'node:crypto';
import { knownStatements } from '../../../src/platform/database/index.js';
import { text } from '../../kit/deployment.js';
import { startService, type TestService } from '../../kit/index.js';

/** The outcome of a statement on a real engine; `npm run engine-statements` writes the file. */
interface Result {
  readonly hash: string;
  readonly nodes: 'none' | 'one' | 'all' | 'unknown';
  readonly error: string | null;
  readonly onItsNode?: { readonly error: string | null };
}

/** Statements that are sent to the node of some workspaces or of each shard, not to the coordinator. */
const ON_NODES_ALONE = [
  'files.put_together',
  'blob_leftovers.claim',
  'blobs.lock_due',
  'push_queue.claim',
  'retention.due_workspaces',
];

const results = JSON.parse(text('test/quick/contract/engine-statements.json')) as Record<string, Result>;

const hashOf = (sql: string): string => createHash('sha256').update(sql).digest('hex').slice(0, 16);

/** Statements whose present text was tried. The others wait for a maintainer: see the script. */
const tried = (): [string, Result][] =>
  knownStatements().flatMap(({ name, onNodes }): [string, Result][] => {
    const result = results[name];
    return result?.hash === hashOf(onNodes) ? [[name, result]] : [];
  });

let service: TestService;
beforeAll(async () => {
  service = await startService(); // its modules define all statements
});
afterAll(() => service.close());

describe('the statements that were tried on an engine that distributes tables (npm run engine-statements)', () => {
  it('succeed where they are sent', () => {
    const failed = tried().filter(([name, { error, onItsNode }]) =>
      ON_NODES_ALONE.includes(name) ? onItsNode?.error !== null : error,
    );
    expect(failed.map(([name]) => name)).toEqual([]);
  });

  it('succeed on the node of a workspace, and need no other, when they are about one workspace', () => {
    const ofOne = new Set(knownStatements().flatMap((one) => (one.isOfWorkspace ? [one.name] : [])));
    const sent = tried().filter(([name]) => ofOne.has(name));
    const failed = sent.filter(([, { onItsNode }]) => onItsNode?.error !== null);
    const elsewhere = sent.filter(([name, { nodes }]) => nodes !== 'one' && !ON_NODES_ALONE.includes(name));
    expect([failed, elsewhere].map((some) => some.map(([name]) => name))).toEqual([[], []]);
  });
});
