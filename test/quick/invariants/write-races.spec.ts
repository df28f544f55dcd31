import { expectDenseLogs, expectReplayLaw, scrub } from '../../kit/oracles.js';
import { startService, type TestService, type TestWorkspace } from '../../kit/index.js';

let first: TestService;
let second: TestService;
let turn = 0;

beforeAll(async () => {
  first = await startService();
  second = await startService({ beside: first });
});
afterAll(async () => {
  await second.close();
  await first.close();
});

/** A fresh workspace, as seen through each of the two instances. */
async function workspaces(): Promise<[TestWorkspace, TestWorkspace]> {
  const alice = await first.user(`alice-${turn++}`);
  const workspace = await alice.workspace();
  return [workspace, workspace.as(alice.at(second.url))];
}

const times = <T>(n: number, make: (i: number) => PromiseLike<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: n }, (_, i) => make(i)));

describe('concurrent uploads', () => {
  it.each([
    ['inline', 100],
    ['in the store', 100_000],
  ])('of 100 identical PUTs create one version (%s)', async (_, size) => {
    const both = await workspaces();
    const content = Buffer.alloc(size, 'a');
    const answers = await times(100, (i) => both[i % 2]!.put('same', content, `device-${i}`));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(99);
    expect(answers.every(({ body }) => body.version === 1)).toBe(true);
    expect(await both[0].log()).toHaveLength(1);
    const blobs = await first.database.query('SELECT id FROM blobs WHERE workspace_id = $1', [both[0].id]);
    expect(blobs).toHaveLength(1);
  });

  it.each([
    ['inline', 10],
    ['in the store', 100_000],
  ])('of 40 different PUTs to one path create 40 versions, each with its bytes (%s)', async (_, size) => {
    const both = await workspaces();
    const answers = await times(40, (i) =>
      both[i % 2]!.put('path', Buffer.alloc(size, String(i).padStart(3, '0'))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array<number>(39).fill(200), 201]);
    expect(answers.map(({ body }) => body.version as number).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 40 }, (_unused, i) => i + 1),
    );
    const log = await both[0].log();
    expect(log.map(({ version }) => version)).toEqual(Array.from({ length: 40 }, (_unused, i) => i + 1));
    const { body } = await both[1].get('path').expect(200);
    expect(body).toHaveLength(size);
    await scrub(first.database, first.dataDir);
    await expectReplayLaw(both[0]);
  });

  it('with the same If-Match succeed once, and the others leave nothing in the log', async () => {
    const both = await workspaces();
    const { body } = await both[0].put('path', 'base').expect(201);
    const answers = await times(20, (i) =>
      both[i % 2]!.put('path', `edit ${i}`).set('If-Match', `"${body.contentHash}"`),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(19);
    expect(await both[0].log()).toHaveLength(2);
  });
});

describe('uploads and deletions at the same time', () => {
  it('of one path have a serial order, and the log replays to the listing', async () => {
    for (let round = 0; round < 10; round++) {
      const [here, there] = await workspaces();
      await here.put('path', 'first').expect(201);
      const answers = await times(12, (i) => {
        if (i % 3 === 0) return here.delete('path', `d${i}`).then((answer) => answer);
        if (i % 3 === 1) return there.push(1, ['path'], `d${i}`).then((answer) => answer);
        return there.put('path', `content ${i}`, `d${i}`).then((answer) => answer);
      });
      expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
      await expectReplayLaw(here);
    }
    await expectDenseLogs(first.database);
  });

  it('delete each of 300 paths once in six pushes of all of them', async () => {
    const [here, there] = await workspaces();
    const paths = Array.from({ length: 300 }, (_, i) => `p${i}`);
    for (const path of paths) await here.put(path, path).expect(201);
    const answers = await times(6, (i) =>
      (i % 2 ? here : there).push(300, i % 2 ? paths : [...paths].reverse(), 'phone'),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
    expect(answers.every(({ body }) => body.accepted.length === 300 && body.conflicts.length === 0)).toBe(
      true,
    );
    expect((await here.log()).filter(({ action }) => action === 'delete')).toHaveLength(300);
    await expectDenseLogs(first.database);
  });
});
