import { randomBytes } from 'node:crypto';
import type supertest from 'supertest';
import type { Manifest, Summary } from '../../../src/domain/checkpoints/projections.js';
import { Database } from '../../../src/platform/database/index.js';
import {
  type ListedCheckpoint,
  startService,
  type TestService,
  type TestWorkspace,
} from '../../kit/index.js';
import { rounds } from '../../kit/rounds.js';

const WRITERS = 8;
const READERS = 4;
const READS = rounds(40, 400);
/** Without the snapshot about one read in twenty tears. */
const READS_TO_NOTICE = 4_000;

/**
 * Every write creates a new path. So the number of live paths equals the head cursor, and each change of a
 * window is of another path: a projection that reads head and rows at two moments has another count.
 */
describe('while writers run', () => {
  let first: TestService;
  let second: TestService;

  beforeAll(async () => {
    first = await startService({ env: { LOG_LEVEL: 'silent' } });
    second = await startService({ beside: first, env: { LOG_LEVEL: 'silent' } });
  });
  afterAll(async () => {
    await second.close();
    await first.close();
  });

  it(`none of ${READS} manifests and summaries is torn`, async () => {
    const { reads, torn } = await readUnderWriters('steady', READS);
    expect(reads).toBeGreaterThanOrEqual(READS);
    expect(torn).toEqual([]);
  });

  it('manifests are torn in READ COMMITTED, so the test above can fail', async () => {
    const planted = [first, second].map(({ app }) => {
      const database = app.get(Database);
      return jest.spyOn(database, 'snapshot').mockImplementation((work) => database.transaction(work));
    });
    try {
      const { torn } = await readUnderWriters('torn', READS_TO_NOTICE);
      expect(torn).not.toEqual([]);
    } finally {
      for (const spy of planted) spy.mockRestore();
    }
  });

  /** Reads until there were `enough` reads or one of them was torn, while checkpoints are made. */
  async function readUnderWriters(name: string, enough: number): Promise<{ reads: number; torn: string[] }> {
    const alice = await first.user(`alice-${name}`);
    const here = await alice.workspace();
    const there = here.as(alice.at(second.url));
    const { id } = await here.checkpoint();

    const torn: string[] = [];
    let reads = 0;
    const isOver = (): boolean => reads >= enough || torn.length > 0;
    const writer = async (workspace: TestWorkspace): Promise<void> => {
      while (!isOver()) {
        const path = randomBytes(12).toString('base64url');
        await served(201, () => workspace.put(path, path));
      }
    };
    const reader = async (workspace: TestWorkspace, i: number): Promise<void> => {
      while (!isOver()) {
        const problem = i === 0 ? await tornSummary(workspace) : await tornManifest(workspace, id);
        if (problem !== undefined) torn.push(problem);
        reads++;
      }
    };
    const both = [here, there];
    await Promise.all([
      ...Array.from({ length: WRITERS }, (_, i) => writer(both[i % 2]!)),
      ...Array.from({ length: READERS }, (_, i) => reader(both[i % 2]!, i)),
    ]);
    return { reads, torn };
  }
});

/** Repeats a request while a busy machine refuses it. */
async function served(status: number, ask: () => supertest.Test): Promise<supertest.Response> {
  for (;;) {
    const answer = await ask();
    if (answer.status === 503) continue;
    expect(answer.status).toBe(status);
    return answer;
  }
}

/** The problem of a torn manifest. The checkpoint is at cursor 0, so the manifest must delete every path. */
async function tornManifest({ user, path }: TestWorkspace, id: string): Promise<string | undefined> {
  const { body } = await served(200, () => user.get(`${path}/checkpoints/${id}/restore-manifest`));
  const { expectedHeadCursor, entries } = body as Manifest;
  const doomed = entries.filter(({ op, beforeVersionId }) => op === 'delete' && beforeVersionId !== null);
  if (doomed.length === expectedHeadCursor && entries.length === expectedHeadCursor) return undefined;
  return `the manifest at head ${expectedHeadCursor} has ${entries.length} entries, ${doomed.length} to delete`;
}

/** The problem of a torn summary of a new checkpoint, from the one before it and from the beginning. */
async function tornSummary(workspace: TestWorkspace): Promise<string | undefined> {
  const { user, path } = workspace;
  const { body: made } = await served(201, () =>
    user.post(`${path}/checkpoints`).send({ encryptedLabel: 'bGFiZWw', kind: 'manual' }),
  );
  const { id, cursor } = made as ListedCheckpoint;
  for (const query of ['', '?fromCursor=0']) {
    const { body } = await served(200, () => user.get(`${path}/checkpoints/${id}/summary${query}`));
    const { fromCursor, toCursor, entries } = body as Summary;
    const created = entries.filter(({ action, changeCount }) => action === 'created' && changeCount === 1);
    const isWhole = toCursor === cursor && entries.length === toCursor - fromCursor;
    if (isWhole && created.length === entries.length) continue;
    return `the summary of (${fromCursor}, ${toCursor}] has ${entries.length} entries, ${created.length} created`;
  }
  return undefined;
}
