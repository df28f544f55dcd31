import { setImmediate } from 'node:timers/promises';
import { TestVault } from '../../kit/automation.js';
import { startService, type TestService } from '../../kit/index.js';
import { Random } from '../../kit/random.js';

const NOTES = 5_000;
const WORDS = 20_000;

let service: TestService;
let vault: TestVault;
/** The content of each note, from which the expected answers are computed. */
let notes: { path: string; content: string }[];
beforeAll(async () => {
  service = await startService({ env: { LOG_LEVEL: 'silent' } });
  vault = await TestVault.setUp(await (await service.user('alice')).workspace());
  const random = new Random(1);
  // As in real texts, a few words are in nearly every note and most are in hardly any.
  const word = (): string => `w${Math.floor(WORDS ** random.next()).toString(36)}`;
  notes = Array.from({ length: NOTES }, (_, i) => ({
    path: `folder ${i % 50}/note ${i}.md`,
    content: Array.from({ length: 100 + (i % 200) }, word).join(' '),
  }));
  await vault.fill(service, notes);
});
afterAll(() => service.close());

/** Paths of the notes that have all words, by looking at every one. */
function naively(...words: string[]): string[] {
  const having = notes.filter(({ path, content }) => {
    const there = new Set(`${path} ${content}`.toLowerCase().split(/[^a-z0-9]+/));
    return words.every((word) => there.has(word) || [...there].some((one) => one.startsWith(word)));
  });
  return having.map(({ path }) => path).sort();
}

/** Repeats a search until the index is ready; before that, a slow machine answers 503. */
async function prepared(): Promise<void> {
  for (let status = 503; status !== 200; status = (await vault.search('w5')).status) expect(status).toBe(503);
}

describe(`${NOTES} notes`, () => {
  it('are indexed by the first search, while other requests are served', async () => {
    let isDone = false;
    const done = prepared().finally(() => (isDone = true));
    let served = 0;
    for (; !isDone; served++) {
      await vault.workspace.user.get('/health').expect(200);
      await setImmediate();
    }
    await done;
    expect(served).toBeGreaterThan(20);
  });

  it('are found by their words, all of them and no other', async () => {
    for (const words of [
      ['wfe9'],
      ['w1', 'wabc'],
      ['note', '4711'],
      ['w77', 'w78', 'w1'],
      ['folder', '49', 'wz'],
    ]) {
      const expected = naively(...words);
      const found = (await vault.search(words.join(' '), 100)).body.results as { path: string }[];
      if (expected.length <= 100) expect(found.map(({ path }) => path).sort()).toEqual(expected);
      else expect(found.filter(({ path }) => expected.includes(path)).length).toBe(100);
    }
  });

  it('are listed, all and by prefix', async () => {
    const all = await vault.list({ limit: 1000 });
    expect(all.map(({ path }) => path).sort()).toEqual(notes.map(({ path }) => path).sort());
    const some = await vault.list({ prefix: 'folder 7/', limit: 30 });
    expect(some.length).toBe(NOTES / 50);
  });

  it('are found correctly after some have changed', async () => {
    await vault.update('folder 0/note 0.md', 'needle').expect(200);
    expect((await vault.upload('folder 1/note 1.md', 'a needle too')).status).toBe(200);
    await vault.remove('folder 2/note 2.md').expect(200);
    expect((await vault.found('needle')).sort()).toEqual(['folder 0/note 0.md', 'folder 1/note 1.md']);
    expect(await vault.found('note 2.md')).not.toContain('folder 2/note 2.md');
  });
});
