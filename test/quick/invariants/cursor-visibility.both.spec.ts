import { randomBytes } from 'node:crypto';
import { Database, statement } from '../../../src/platform/database/index.js';
import { startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { itDeep } from '../../kit/rounds.js';

const WRITERS = 8;
const WRITES = 60;

describe('no change ever appears at or below a cursor that was handed out', () => {
  let first: TestService;
  let second: TestService;

  beforeAll(async () => {
    first = await startService();
    second = await startService({ beside: first });
  });
  afterAll(async () => {
    await second.close();
    await first.close();
  });

  it('a follower on either instance sees every change that concurrent writers on both committed', async () => {
    const missed = await missedByFollowers('steady');
    expect(missed).toEqual([]);
  });

  itDeep(
    'a follower misses changes when cursors come from a sequence, so the test above can fail',
    async () => {
      await first.database.query('CREATE SEQUENCE leaky START 64 INCREMENT BY 64'); // a batch has at most 64 uploads
      const definition = await definitionOf('put_documents_of_many');
      const locking = await definitionOf('put_documents');
      const leaky = definition
        .replace(
          'FOR u IN',
          `log_heads := ARRAY(SELECT CASE WHEN head IS NOT NULL THEN nextval('leaky') - 64 END FROM unnest(p_head) AS u (head));
         PERFORM pg_sleep(CASE WHEN random() < 0.1 THEN 0.3 ELSE 0 END); FOR u IN`,
        )
        .replace('AND w.head_cursor <', 'AND 0 <');
      expect(leaky).toMatch(/nextval.*greatest.*AND 0 </s);
      await first.database.query(leaky);
      await first.database.query(locking.replace('FOR NO KEY UPDATE', ''));
      [first, second].forEach(commitWithoutLocks);
      try {
        expect((await missedByFollowers('leaky')).length).toBeGreaterThan(0);
      } finally {
        jest.restoreAllMocks();
        await first.database.query(definition);
        await first.database.query(locking);
      }
    },
  );

  function commitWithoutLocks({ app }: TestService): void {
    const database = app.get(Database);
    const run = database.run.bind(database);
    jest.spyOn(database, 'run').mockImplementation((asked, values) => {
      if (asked.name !== 'files.put_together') return run(asked, values);
      const text = asked.text.replace('FOR NO KEY UPDATE SKIP LOCKED', '');
      return run(statement('test.put_without_locks', text), values);
    });
  }

  async function definitionOf(name: string): Promise<string> {
    const text = 'SELECT pg_get_functiondef($1::regproc) AS definition';
    const [row] = await first.database.query<{ definition: string }>(text, [name]);
    return row!.definition;
  }

  async function missedByFollowers(name: string): Promise<string[]> {
    const alice = await first.user(`alice-${name}`);
    const here = await alice.workspace();
    const there = here.as(alice.at(second.url));

    let isWriting = true;
    const written = new Set<string>();
    const writer = async (workspace: TestWorkspace): Promise<void> => {
      for (let i = 0; i < WRITES; i++) {
        const path = randomBytes(12).toString('base64url');
        await workspace.put(path, path).expect(201);
        written.add(path);
      }
    };
    const follower = async (workspace: TestWorkspace): Promise<Set<string>> => {
      const seen = new Set<string>();
      let cursor = 0;
      for (let isLast = false; ;) {
        const { body } = await workspace.pull(cursor).expect(200);
        for (const change of body.changes) seen.add(change.encryptedPath);
        cursor = body.cursor;
        if (isLast && body.changes.length === 0) return seen;
        isLast = !isWriting;
      }
    };

    const followers = [here, there].map(follower);
    await Promise.all(Array.from({ length: WRITERS }, (_, i) => writer(i % 2 ? here : there)));
    isWriting = false;
    const seen = await Promise.all(followers);
    return [...written].filter((path) => seen.some((one) => !one.has(path)));
  }
});
