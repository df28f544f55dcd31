import { Search } from '../../../src/domain/automation/search/search.service.js';
import { SearchIndexes, type SessionIndex } from '../../../src/domain/automation/search/search-indexes.js';
import { IndexFeed } from '../../../src/domain/automation/search/index-feed.js';
import type { Vault } from '../../../src/domain/automation/contents.js';
import { ChangeLogReader } from '../../../src/domain/sync/index.js';
import { TestVault } from '../../kit/automation.js';
import { eventually, holdTable, sha256, startService, type TestService } from '../../kit/index.js';

interface Result {
  path: string;
  version: number;
  score: number;
  snippet: string;
}

let service: TestService;
let second: TestService;
let vault: TestVault;
beforeAll(async () => {
  service = await startService({ env: { MAX_FILE_BYTES: '3000000' } });
  second = await startService({ beside: service });
});
afterAll(async () => {
  await second.close();
  await service.close();
});
beforeEach(async () => {
  vault = await TestVault.setUp(await (await service.user('alice')).workspace());
});

afterEach(async () => {
  await vault.endSession();
});

const write = async (notes: Record<string, string>): Promise<void> => {
  for (const [path, content] of Object.entries(notes)) await vault.create(path, content).expect(201);
};

async function results(q: string, limit?: number): Promise<Result[]> {
  return (await vault.search(q, limit).expect(200)).body.results;
}

describe('GET search', () => {
  it('is 503 while its index is being built, and answers a later request', async () => {
    await write({ 'note.md': 'a needle' });
    const files = await holdTable(service.database, 'files');
    const patience = service.app.get(Search);
    const { answerWithinMs } = patience;
    Object.assign(patience, { answerWithinMs: 20 });
    try {
      for (let asked = 0; asked < 3; asked++) {
        const { body, headers } = await vault.search('needle').expect(503);
        expect([body, headers['retry-after']]).toEqual([
          { error: 'the search is still being prepared' },
          '5',
        ]);
      }
    } finally {
      Object.assign(patience, { answerWithinMs });
      await files.release();
    }
    const walk = jest.spyOn(service.app.get(ChangeLogReader, { strict: false }), 'snapshot');
    expect(await vault.found('needle')).toEqual(['note.md']);
    expect(walk).not.toHaveBeenCalled(); // the first build went on
    walk.mockRestore();
  });

  describe('after a 503 for an unfinished index', () => {
    let other: TestVault;
    let keys: Map<string, Vault>;
    let goOn: () => void;
    beforeEach(async () => {
      other = await TestVault.setUp(await (await service.user('bob')).workspace());
      await write({ 'note.md': 'a needle' });
      await other.create('other.md', 'a needle').expect(201);
      Object.assign(service.app.get(Search), { answerWithinMs: 100 });
      const feed = service.app.get(IndexFeed, { strict: false });
      const { build, follow } = IndexFeed.prototype;
      keys = new Map();
      jest.spyOn(feed, 'follow').mockImplementation((index, own) => {
        keys.set(index.workspaceId, own);
        return follow.call(feed, index, own);
      });
      const gate = new Promise<void>((resolve) => (goOn = resolve));
      jest.spyOn(feed, 'build').mockImplementation(async (index, own) => {
        if (index.workspaceId === vault.workspace.id) await gate; // as if it were large
        return build.call(feed, index, own);
      });
      await vault.search('needle').expect(503);
      await other.search('needle').expect(503);
    });
    afterEach(async () => {
      goOn();
      jest.restoreAllMocks();
      Object.assign(service.app.get(Search), { answerWithinMs: 25_000 });
      await other.endSession();
    });

    const isWiped = (of: TestVault): boolean => {
      const own = keys.get(of.workspace.id)?.keys as unknown as
        { bytes: Record<string, Uint8Array> } | undefined;
      return Object.values(own?.bytes ?? { none: Buffer.from('x') }).every((key) =>
        key.every((byte) => byte === 0),
      );
    };

    it('keeps its place behind a slow index, and wipes the keys when both are built', async () => {
      expect([isWiped(vault), isWiped(other)]).toEqual([false, false]);
      goOn();
      await eventually(() => expect([isWiped(vault), isWiped(other)]).toEqual([true, true]));
      Object.assign(service.app.get(Search), { answerWithinMs: 25_000 });
      const walk = jest.spyOn(service.app.get(ChangeLogReader, { strict: false }), 'snapshot');
      expect(await other.found('needle')).toEqual(['other.md']);
      expect(await vault.found('needle')).toEqual(['note.md']);
      expect(walk).not.toHaveBeenCalled();
    });

    it('wipes the keys when the session ends while its build waits', async () => {
      await other.endSession();
      await eventually(() => expect(isWiped(other)).toBe(true));
      expect(isWiped(vault)).toBe(false);
    });
  });

  it('finds notes that contain all words as prefixes, ignoring case and accents', async () => {
    await write({
      'Reise/Zürich.md': 'Im Café an der Straße: Ärger mit dem ÖPNV.',
      'Reise/Bern.md': 'Kein Ärger in Bern.',
      'ideas.md': 'A cafe on wheels',
      'empty.md': '',
    });
    const sorted = async (q: string): Promise<string[]> => (await vault.found(q)).sort();
    expect(await sorted('CAFÉ')).toEqual(['Reise/Zürich.md', 'ideas.md']);
    expect(await sorted('cafe\u0301 arger')).toEqual(['Reise/Zürich.md']);
    expect(await sorted('strasse')).toEqual(['Reise/Zürich.md']);
    expect(await sorted('ärger')).toEqual(['Reise/Bern.md', 'Reise/Zürich.md']);
    expect(await sorted('Ber ärg')).toEqual(['Reise/Bern.md']);
    expect(await sorted('zur')).toEqual(['Reise/Zürich.md']);
    expect(await sorted('rei')).toEqual(['Reise/Bern.md', 'Reise/Zürich.md']);
    expect(await sorted('empty')).toEqual(['empty.md']);
    expect(await sorted('cafe bern')).toEqual([]);
    expect(await sorted('afé')).toEqual([]);
  });

  it('finds words in other scripts, with and without spaces', async () => {
    await write({
      'ja.md': '明日は東京都へ行きます。カタカナ',
      'ko.md': '오늘은 학교에서 공부했다',
      'th.md': 'วันนี้อากาศดีมาก',
      'zh.md': '我的笔记本电脑',
      'ru.md': 'Ёлка и Йод',
      'el.md': 'Ο Οδυσσεύς',
      'hi.md': 'हिन्दी में लिखा',
      'he.md': 'שלום עולם',
      '日記/二〇二六.md': 'x',
    });
    const found: Record<string, string[]> = {
      東京都: ['ja.md'],
      京都: ['ja.md'],
      都へ行: ['ja.md'],
      す: ['ja.md'],
      カタ: ['ja.md'],
      京東: [],
      학교: ['ko.md'],
      อากาศ: ['th.md'],
      笔记: ['zh.md'],
      脑: ['zh.md'],
      日記: ['日記/二〇二六.md'],
      елка: ['ru.md'],
      ΟΔΥΣΣΕΥΣ: ['el.md'],
      हिन्दी: ['hi.md'],
      שלום: ['he.md'],
    };
    for (const [q, paths] of Object.entries(found)) expect([q, await vault.found(q)]).toEqual([q, paths]);
  });

  it('ranks a hit in the path first, then more hits, then shorter notes', async () => {
    const filler = 'lorem ipsum dolor sit amet '.repeat(20);
    await write({
      'once.md': `apple ${filler}`,
      'often.md': `apple apple apple apple ${filler}`,
      'long.md': `apple ${filler.repeat(10)}`,
      'apple.md': filler,
      'none.md': filler,
    });
    const found = await results('apple');
    expect(found.map(({ path }) => path)).toEqual(['apple.md', 'often.md', 'once.md', 'long.md']);
    const scores = found.map(({ score }) => score);
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
    expect(await results('apple', 2)).toEqual(found.slice(0, 2));
  });

  it('shows a snippet on one line around the first hit', async () => {
    const before = 'word '.repeat(100);
    await write({
      'short.md': '# Title\n\n\tsome  needle\nhere',
      'deep.md': `${before}the NEEDLE is here ${before}`,
      'emoji.md': `${'😀'.repeat(80)} needle ${'😀'.repeat(200)}`,
      'needle.md': 'only the name has it',
    });
    const snippets = Object.fromEntries(
      (await results('needle')).map(({ path, snippet }) => [path, snippet]),
    );
    expect(snippets['short.md']).toBe('# Title some needle here');
    expect(snippets['deep.md']).toMatch(/^….*the NEEDLE is here.*…$/);
    expect(snippets['deep.md']!.length).toBeLessThan(210);
    expect(snippets['emoji.md']).toMatch(/^…(?:😀)+ needle (?:😀)+…$/u);
    expect(snippets['needle.md']).toBe('only the name has it');
  });

  it('answers with exactly path, version, score and snippet', async () => {
    await write({ 'a.md': 'one two' });
    await vault.update('a.md', 'one three').expect(200);
    expect((await vault.search('one').expect(200)).body).toEqual({
      results: [{ path: 'a.md', version: 2, score: expect.any(Number), snippet: 'one three' }],
    });
  });

  it('accepts 1 to 256 characters and clamps the limit to 1 to 100, with 20 as the default', async () => {
    await vault.fill(
      service,
      Array.from({ length: 120 }, (_, i) => ({ path: `${i}.md`, content: 'same' })),
    );
    for (const query of ['', '?q=', '?q=%20', `?q=${'x'.repeat(257)}`, '?q=a&q=b'])
      expect((await vault.request('get', `/search${query}`).expect(400)).body).toEqual({
        error: expect.any(String),
      });
    const count = async (limit: string): Promise<number> =>
      (await vault.request('get', `/search?q=same&limit=${limit}`).expect(200)).body.results.length;
    expect(await Promise.all(['', 'x', '0', '-5', '7.9', '100', '1e9'].map(count))).toEqual([
      ...[20, 20, 1, 1, 7, 100, 100],
    ]);
  });

  it('treats every query as words, never as a pattern', async () => {
    await write({ 'note.md': 'plain (text) [with] $signs {and} .* things' });
    for (const q of [
      '.*',
      '(',
      '[a-z]+',
      '\\',
      '$',
      '^',
      '"',
      '%',
      "'; DROP TABLE files; --",
      '(a+)+$',
      '\u0000',
    ])
      expect((await vault.search(q).expect(200)).body).toEqual({ results: [] });
    expect(await vault.found('[with] $signs')).toEqual(['note.md']);
    expect(await vault.found('(a+)+ '.repeat(40))).toEqual([]);
    expect(await vault.found('constructor __proto__')).toEqual([]);
  });
});

describe('a search result', () => {
  it('reflects the current workspace, whichever client wrote', async () => {
    expect(await vault.found('fresh')).toEqual([]);
    await write({ 'a.md': 'fresh' });
    expect(await vault.found('fresh')).toEqual(['a.md']);
    expect((await vault.upload('b.md', 'fresh from a laptop')).status).toBe(201);
    expect((await vault.found('fresh')).sort()).toEqual(['a.md', 'b.md']);
    await vault.update('a.md', 'stale').expect(200);
    expect(await vault.found('fresh')).toEqual(['b.md']);
    await vault.remove('b.md').expect(200);
    expect(await vault.found('fresh')).toEqual([]);
    const [, first] = (await vault.history('a.md')).body.versions;
    await vault.restore('a.md', first.versionId).expect(200);
    expect(await results('fresh')).toMatchObject([{ path: 'a.md', version: 3 }]);
  });

  it('is current on every instance', async () => {
    const there = vault.with(vault.keySession, vault.workspace.user.at(second.url));
    await write({ 'a.md': 'shared' });
    expect([await vault.found('shared'), await there.found('shared')]).toEqual([['a.md'], ['a.md']]);
    await there.update('a.md', 'changed').expect(200);
    expect([await vault.found('shared'), await there.found('shared')]).toEqual([[], []]);
  });

  it('is correct after a compaction of the log', async () => {
    await write({ 'a.md': 'word', 'b.md': 'word' });
    expect((await vault.found('word')).length).toBe(2);
    await vault.remove('b.md').expect(200);
    await service.database.query('UPDATE workspaces SET compaction_floor = head_cursor WHERE id = $1', [
      vault.workspace.id,
    ]);
    expect(await vault.found('word')).toEqual(['a.md']);
    await vault.create('c.md', 'word').expect(201);
    expect((await vault.found('word')).sort()).toEqual(['a.md', 'c.md']);
  });

  it('covers the first 64 KiB of a note, and only the path of one above a mebibyte', async () => {
    await write({
      'long.md': `early ${'x '.repeat(40_000)} late`,
      'huge.md': `early ${'x '.repeat(600_000)}`,
    });
    expect(await vault.found('early')).toEqual(['long.md']);
    expect(await vault.found('late')).toEqual([]);
    expect(await results('huge')).toMatchObject([{ path: 'huge.md', snippet: '' }]);
  });

  it('is correct after concurrent searches and writes', async () => {
    await write({ 'a.md': 'word 0' });
    const searches = Array.from({ length: 20 }, () => vault.found('word'));
    const writes = Array.from({ length: 10 }, (_, i) => vault.create(`${i}.md`, 'word'));
    await Promise.all([...searches, ...writes]);
    expect((await vault.found('word')).length).toBe(11);
  });
});

describe('an index', () => {
  const indexes = ({ app }: TestService): SearchIndexes => app.get(SearchIndexes, { strict: false });

  beforeEach(async () => {
    for (const each of [service, second]) await eventually(() => expect(indexes(each).size).toBe(0));
    await write({ 'a.md': 'word' });
    await vault.found('word');
    await vault.with(vault.keySession, vault.workspace.user.at(second.url)).found('word');
    expect([indexes(service).size, indexes(second).size]).toEqual([1, 1]);
  });

  const expectDropped = (): Promise<void> =>
    eventually(() => expect([indexes(service).size, indexes(second).size]).toEqual([0, 0]));

  it('ends with its session, on every instance', async () => {
    await vault.endSession().expect(200);
    expect(indexes(service).size).toBe(0);
    await expectDropped();
  });

  it('ends with the token that opened the session', async () => {
    await vault.endSession().expect(200);
    const user = await service.user('alice');
    const { body } = await user.post('/api/v1/auth/tokens').send({ name: 'tool' }).expect(201);
    const opened = await vault.withNewSession(user.at(user.url, body.token));
    await opened.found('word');
    await opened.with(opened.keySession, user.at(second.url, body.token)).found('word');
    await user.delete(`/api/v1/auth/tokens/${body.id}`).expect(200);
    await expectDropped();
  });

  it('ends with its workspace', async () => {
    await vault.workspace.user.delete(vault.workspace.path).expect(200);
    await expectDropped();
  });

  it('ends when the session expires', async () => {
    await indexes(service).dropEnded();
    expect(indexes(service).size).toBe(1);
    service.clock.advance(15 * 60_000);
    await Promise.all([indexes(service).dropEnded(), indexes(second).dropEnded()]);
    await expectDropped();
  });

  it('is dropped when the session ends while it is being built', async () => {
    const content = `word ${'text '.repeat(300)}`;
    await vault.fill(
      service,
      Array.from({ length: 1500 }, (_, i) => ({ path: `${i}.md`, content })),
    );
    const another = await vault.withNewSession();
    const searching = another.search('word');
    const answered = searching.then(({ status }) => status);
    await eventually(() => expect(indexes(service).size).toBe(2));
    await another.endSession().expect(200);
    expect(await answered).toBe(401);
    expect(indexes(service).size).toBe(1);
  });

  it('is built once for concurrent searches', async () => {
    const another = await vault.withNewSession();
    const sync = service.app.get(ChangeLogReader, { strict: false });
    const snapshot = sync.snapshot.bind(sync);
    let walks = 0;
    sync.snapshot = (...where) => {
      walks++;
      return snapshot(...where);
    };
    const found = await Promise.all(Array.from({ length: 5 }, () => another.found('word')));
    sync.snapshot = snapshot;
    expect(found).toEqual(Array(5).fill(['a.md']));
    expect(walks).toBe(1);
    await another.endSession().expect(200);
  });

  it('is evicted when there is no room, the least recently used first, and rebuilt on demand', async () => {
    const one = indexes(service);
    const [budget, oldest] = [one.budget, vault];
    const others = [await vault.withNewSession(), await vault.withNewSession()];
    Object.assign(one, { budget: 50_000 }); // an index takes about 18,000 bytes
    for (const other of others) expect(await other.found('word')).toEqual(['a.md']);
    expect([...heldBy(one)].map(({ sessionId }) => sessionId)).toEqual(await Promise.all(others.map(idOf)));
    expect(await oldest.found('word')).toEqual(['a.md']);
    expect(one.size).toBe(2);
    Object.assign(one, { budget });
    for (const other of others) await other.endSession().expect(200);
  });

  it('shares one budget with indexes that grow at the same time, and results are complete', async () => {
    const one = indexes(service);
    const { budget } = one;
    const unique = (from: number): string =>
      Array.from({ length: 40 }, (_, i) => (from + i).toString(36).padStart(4, '0')).join(' ');
    const others = await Promise.all(Array.from({ length: 6 }, () => vault.withNewSession()));
    for (const other of others.slice(0, 3)) await other.found('word'); // follow the log; the rest are built
    const notes = Array.from({ length: 120 }, (_, i) => ({
      path: `${i}.md`,
      content: `word ${unique(i * 40)}`,
    }));
    await vault.fill(service, notes);

    Object.assign(one, { budget: 2_000_000 }); // an index takes about 1,400,000 bytes
    const seen = new Set<SessionIndex>();
    let most = 0;
    const makeRoomFor = one.makeRoomFor.bind(one);
    one.makeRoomFor = (growing) => {
      makeRoomFor(growing);
      seen.add(growing);
      most = Math.max(
        most,
        [...seen].reduce((sum, { notes: { bytes } }) => sum + bytes, 0),
      );
    };
    const found = await Promise.all(others.map(async (other) => (await other.search('word', 100)).body));
    Object.assign(one, { budget, makeRoomFor });
    expect(found.map(({ results }) => results.length)).toEqual(Array(6).fill(100));
    expect(most).toBeGreaterThan(1_000_000);
    expect(most).toBeLessThanOrEqual(2_000_000 + others.length * 16 * 1024); // an empty one counts 16 KiB
    for (const other of others) await other.endSession().expect(200);
  });

  it('holds only paths when the notes exceed its budget, and nothing when paths do too', async () => {
    const one = indexes(service);
    const { budget } = one;
    const foundWith = async (room: number): Promise<string[][]> => {
      Object.assign(one, { budget: room });
      const other = await vault.withNewSession();
      const found = [await other.found('word'), await other.found('a')];
      await other.endSession().expect(200);
      return found;
    };
    expect(await foundWith(17 * 1024)).toEqual([['a.md'], ['a.md']]); // an empty index takes 16 KiB
    expect(await foundWith(16 * 1024)).toEqual([[], ['a.md']]);
    expect(await foundWith(12 * 1024)).toEqual([[], []]);
    Object.assign(one, { budget });
  });

  it('exceeds its budget by at most a quarter and one note', async () => {
    const one = indexes(service);
    const { budget } = one;
    Object.assign(one, { budget: 300_000 });
    const unique = (from: number): string =>
      Array.from({ length: 200 }, (_, i) => (from + i).toString(36).padStart(4, '0')).join(' ');
    await vault.fill(
      service,
      Array.from({ length: 300 }, (_, i) => ({ path: unique(i * 200), content: unique(i * 200) })),
    );
    const other = await vault.withNewSession();
    await other.found('word');
    const [{ bytes }] = [...heldBy(one)].map(({ notes }) => notes) as [SessionIndex['notes']];
    expect(bytes).toBeGreaterThan(300_000);
    expect(bytes).toBeLessThan(1.25 * 300_000 + 100_000); // plus one note
    Object.assign(one, { budget });
    await other.endSession().expect(200);
  });

  const heldBy = (one: SearchIndexes): Iterable<SessionIndex> =>
    (one as unknown as { all: Map<string, SessionIndex> }).all.values();

  const idOf = async ({ keySession }: TestVault): Promise<string> => {
    const hash = Buffer.from(sha256(keySession), 'hex');
    const sql = 'SELECT id FROM key_sessions WHERE token_hash = $1';
    return (await service.database.query<{ id: string }>(sql, [hash]))[0]!.id;
  };
});
