import { randomBytes } from 'node:crypto';
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeFirst, encode } from 'cborg';
import {
  deriveVaultKeys,
  type HttpOptions,
  Session,
  type VaultKeys,
} from '../../../client/src/core/index.js';
import { compare } from '../../../examples/demo/mirror.js';
import { AlteringProxy, type Answered } from '../../kit/altering-proxy.js';
import { around, FolderDevice } from '../../kit/folder-device.js';
import { startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { firstOf, itDeep } from '../../kit/rounds.js';

const NOTES = 20;
const UP = /^POST .*\/files\/batch-upload$/;
const DOWN = /^POST .*\/files\/batch-download$/;
const ALONE_UP = /^PUT .*\/files\//;
const ALONE_DOWN = /^GET .*\/files\//;

type Item = Record<string, unknown>;
interface Result {
  encryptedPath: string | null;
  status: number;
  version: number;
  contentHash: string | null;
}

let service: TestService;
let proxy: AlteringProxy;
beforeAll(async () => {
  service = await startService({ isAtBaseUrl: true, env: { LOG_LEVEL: 'silent' } });
  proxy = await AlteringProxy.before(service.url);
});
afterAll(async () => {
  await proxy.close();
  await service.close();
});

let home: string;
let workspace: TestWorkspace;
let keys: VaultKeys;
let users = 0;
beforeEach(async () => {
  proxy.set();
  home = await mkdtemp(join(tmpdir(), 'folder-batches-'));
  workspace = await (await service.user(`folder-batches-${++users}`)).workspace();
  keys = await deriveVaultKeys(randomBytes(32));
});
afterEach(() => rm(home, { recursive: true, force: true }));

/** Each request is sent twice at most, without a pause: retries have tests of their own. */
const http: HttpOptions = { sleep: () => Promise.resolve(), retries: { attempts: 2 } };

/** A device with its saved state, behind the proxy. @param step runs around each call of disk and service */
const device = (name: string, step: () => void = () => undefined): FolderDevice =>
  new FolderDevice(name, home, {
    session: Session.withAccessToken(proxy.url, workspace.user.token, http),
    ...{ workspaceId: workspace.id, keys },
    remote: (remote) => around(remote, { before: step, after: step }),
    disk: (disk) => around(disk, { before: step, after: step }),
  });

/** Syncs, and expects that nothing is left to do. */
async function sync(name: string): Promise<void> {
  const { stopped, leftOver, conflicts } = await device(name).sync();
  expect({ stopped, leftOver, conflicts }).toEqual({ stopped: undefined, leftOver: [], conflicts: [] });
}

async function writeNotes(count: number, folder = 'laptop'): Promise<void> {
  await mkdir(join(home, folder), { recursive: true });
  for (let i = 0; i < count; i++) await writeFile(join(home, folder, `${i}.md`), `the text of note ${i}\n`);
}

async function expectAlike(other = 'phone'): Promise<void> {
  expect((await compare(join(home, 'laptop'), join(home, other))).differences).toEqual([]);
}

/** Every file on the phone equals that on the laptop. */
async function expectNothingWrong(): Promise<void> {
  const right = await device('laptop').files();
  for (const [path, text] of await device('phone').files())
    expect([path, text]).toEqual([path, right.get(path)]);
}

/** Writes notes on the laptop and uploads them. */
async function uploadedNotes(count = NOTES): Promise<void> {
  await writeNotes(count);
  await sync('laptop');
}

const answer = (status: number, body: Buffer | string, rest: Partial<Answered> = {}): Answered => ({
  status,
  headers: {},
  body: Buffer.from(body),
  ...rest,
});

function itemsIn(sequence: Buffer): Item[] {
  const items: Item[] = [];
  for (let rest: Uint8Array = sequence; rest.length > 0;) {
    const [item, after] = decodeFirst(rest) as [Item, Uint8Array];
    items.push(item);
    rest = after;
  }
  return items;
}

const sequenceOf = (items: readonly unknown[]): Buffer => Buffer.concat(items.map((item) => encode(item)));

describe('a first sync of 2,000 notes', () => {
  itDeep('takes at most eight batches up and eight down, and no request for a single note', async () => {
    await uploadedNotes(2_000);
    expect(proxy.count(ALONE_UP)).toBe(0);
    expect(proxy.count(UP)).toBeLessThanOrEqual(8);
    proxy.set();
    await sync('phone');
    expect(proxy.count(ALONE_DOWN)).toBe(0);
    expect(proxy.count(DOWN)).toBeLessThanOrEqual(8);
    expect(await workspace.status()).toEqual({ cursor: 2_000, fileCount: 2_000 });
    await expectAlike();
  });
});

describe('files that no batch carries', () => {
  itDeep('are sent alone: those of more than 1 MiB, and a single one', async () => {
    await writeNotes(3);
    await writeFile(join(home, 'laptop', 'large.bin'), randomBytes(1024 * 1024 + 1));
    const [laptop, phone] = [device('laptop'), device('phone')];
    await laptop.sync();
    await phone.sync();
    expect([UP, ALONE_UP, DOWN, ALONE_DOWN].map((pattern) => proxy.count(pattern))).toEqual([1, 1, 1, 1]);
    await appendFile(join(home, 'laptop', '1.md'), 'more\n');
    await laptop.sync();
    await phone.sync();
    expect([UP, ALONE_UP, DOWN, ALONE_DOWN].map((pattern) => proxy.count(pattern))).toEqual([1, 2, 1, 2]);
    await expectAlike();
  });

  it('are requested again when a batch answers them without content', async () => {
    await uploadedNotes();
    proxy.set(async (asked, forward) => {
      const answered = await forward();
      if (!DOWN.test(`${asked.method} ${asked.path}`)) return answered;
      const items = itemsIn(answered.body).map(({ content, ...item }, i) =>
        i < 5 ? { ...item, content } : item,
      );
      return { ...answered, body: sequenceOf(items) };
    });
    await sync('phone');
    expect(proxy.count(DOWN)).toBe(NOTES / 5);
    await expectAlike();
  });
});

describe('a service without batches', () => {
  const olderService = (): void =>
    proxy.set((asked, forward) =>
      UP.test(`${asked.method} ${asked.path}`) || DOWN.test(`${asked.method} ${asked.path}`)
        ? Promise.resolve(answer(404, '{"error":"not found"}'))
        : forward(),
    );

  it('gets every note by a separate request, after one batch that it answers with 404', async () => {
    olderService();
    await uploadedNotes();
    expect([proxy.count(UP), proxy.count(ALONE_UP)]).toEqual([1, NOTES]);
    await sync('phone');
    expect([proxy.count(DOWN), proxy.count(ALONE_DOWN)]).toEqual([1, NOTES]);
    await expectAlike();
  });

  itDeep('is distinguished from a deleted workspace, which ends the sync and changes nothing', async () => {
    await uploadedNotes();
    const [laptop, phone] = [device('laptop'), device('phone')];
    await writeNotes(NOTES, 'new');
    for (const name of await readdir(join(home, 'new')))
      await writeFile(join(home, 'laptop', `new ${name}`), `new ${name}`);
    proxy.set(async (asked, forward) => {
      if (asked.path.endsWith('/batch-upload') || asked.path.endsWith('/batch-download'))
        await workspace.user.delete(workspace.path);
      return forward();
    });
    for (const one of [laptop, phone])
      expect((await one.sync()).stopped).toContain('404: workspace not found');
    expect((await laptop.files()).size).toBe(2 * NOTES);
  });
});

describe('batches that are refused', () => {
  itDeep('for size or time are followed by smaller batches', async () => {
    proxy.set((asked, forward) =>
      UP.test(`${asked.method} ${asked.path}`) && itemsIn(asked.body).length > 6
        ? Promise.resolve(answer(itemsIn(asked.body).length > 10 ? 413 : 408, '{"error":"too much"}'))
        : forward(),
    );
    await uploadedNotes();
    expect([proxy.count(UP), proxy.count(ALONE_UP)]).toEqual([7, 0]);
    proxy.set();
    await sync('phone');
    await expectAlike();
  });

  itDeep.each([429, 503])('with %i are repeated with the same bytes after Retry-After', async (status) => {
    let refusals = 0;
    proxy.set((asked, forward) =>
      /batch/.test(asked.path) && refusals++ % 2 === 0
        ? Promise.resolve(answer(status, '{"error":"not now"}', { headers: { 'retry-after': '0' } }))
        : forward(),
    );
    await uploadedNotes();
    const [first, second] = proxy.asked.filter(({ path }) => path.endsWith('batch-upload'));
    expect(second?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true);
    await sync('phone');
    expect([UP, ALONE_UP, DOWN, ALONE_DOWN].map((pattern) => proxy.count(pattern))).toEqual([2, 0, 2, 0]);
    await expectAlike();
  });

  itDeep('with 500 are followed by single requests', async () => {
    proxy.set((asked, forward) =>
      /batch/.test(asked.path) ? Promise.resolve(answer(500, '{"error":"a fault"}')) : forward(),
    );
    await uploadedNotes();
    await sync('phone');
    await expectAlike();
  });
});

describe('a lost answer to a batch of uploads', () => {
  it('makes the device repeat the batch, which changes nothing twice', async () => {
    let losses = 0;
    proxy.set(async (asked, forward) => {
      const answered = await forward();
      return UP.test(`${asked.method} ${asked.path}`) && losses++ === 0
        ? { ...answered, body: Buffer.alloc(0), isCut: true }
        : answered;
    });
    await uploadedNotes();
    expect([proxy.count(UP), proxy.count(ALONE_UP)]).toEqual([2, 0]);
    expect(await workspace.status()).toEqual({ cursor: NOTES, fileCount: NOTES });
  });
});

describe('a device that is killed before or after any step', () => {
  const FEW = 6;

  /** Syncs with a device that dies at the first step, then at the second, and so on, as long as it dies. */
  async function killAtEachStep(name: string, afterwards: () => Promise<void>): Promise<number> {
    for (let diesAt = 1; ; diesAt++) {
      let steps = 0;
      const step = (): void => {
        if (++steps >= diesAt) throw new Error('killed');
      };
      const end = await device(name, step)
        .sync()
        .catch((error: unknown) => String(error));
      if (typeof end === 'string') expect(end).toBe('Error: killed');
      await sync(name);
      await afterwards();
      if (typeof end !== 'string') return diesAt;
    }
  }

  itDeep('uploads nothing twice and loses nothing', async () => {
    await writeNotes(FEW);
    let cursor = 0;
    const steps = await killAtEachStep('laptop', async () => {
      cursor += FEW;
      expect(await workspace.status()).toEqual({ cursor, fileCount: FEW });
      for (let i = 0; i < FEW; i++) await appendFile(join(home, 'laptop', `${i}.md`), 'one more line\n');
    });
    expect(steps).toBeGreaterThan(20);
    expect(proxy.count(UP)).toBeGreaterThan(20);
    expect(proxy.count(ALONE_UP)).toBe(0);
  });

  itDeep('downloads everything', async () => {
    await uploadedNotes(FEW);
    const steps = await killAtEachStep('phone', async () => {
      await expectAlike();
      await rm(join(home, 'phone'), { recursive: true });
      await rm(join(home, 'phone.sync'), { recursive: true });
    });
    expect(steps).toBeGreaterThan(50);
    expect(proxy.count(DOWN)).toBeGreaterThan(50);
  });
});

describe('files that two devices have changed', () => {
  itDeep('are both kept when a batch conflicts in some of its files', async () => {
    await uploadedNotes();
    const [laptop, phone] = [device('laptop'), device('phone')];
    await phone.sync();
    for (const i of [0, 1, 2]) await appendFile(join(home, 'phone', `${i}.md`), 'of the phone\n');
    for (const i of [1, 2, 3]) await appendFile(join(home, 'laptop', `${i}.md`), 'of the laptop\n');
    // The phone writes between the laptop's pull and its batch.
    let isFirst = true;
    proxy.set(async (asked, forward) => {
      if (UP.test(`${asked.method} ${asked.path}`) && isFirst) {
        isFirst = false;
        await phone.sync();
      }
      return forward();
    });
    const report = await laptop.sync();
    await phone.sync();
    expect(report.conflicts.map(({ copy }) => copy).sort()).toEqual(
      [1, 2].map((i) => `${i} (conflict from laptop).md`),
    );
    await expectAlike();
    const text = (name: string): Promise<string> => readFile(join(home, 'phone', name), 'utf8');
    expect(await text('1.md')).toBe('the text of note 1\nof the phone\n');
    expect(await text('1 (conflict from laptop).md')).toBe('the text of note 1\nof the laptop\n');
    expect(await text('3.md')).toBe('the text of note 3\nof the laptop\n');
  });
});

describe('hostile answers to batches of downloads', () => {
  const rotated = <T>(items: readonly T[]): T[] => [...items.slice(1), ...items.slice(0, 1)];
  const contents = (items: readonly Item[], change: (content: Uint8Array, i: number) => unknown): Item[] =>
    items.map((item, i) => ({ ...item, content: change(item['content'] as Uint8Array, i) }));

  const ANSWERS: [string, (items: Item[]) => Buffer][] = [
    [
      'contents of other files',
      (items) => sequenceOf(contents(items, (_, i) => rotated(items)[i]?.['content'])),
    ],
    ['fewer items', (items) => sequenceOf(items.slice(0, 7))],
    ['no items', () => Buffer.alloc(0)],
    ['half of an item at the end', (items) => sequenceOf(items).subarray(0, -20)],
    ['more items', (items) => sequenceOf([...items, ...items])],
    ['another order', (items) => sequenceOf(rotated(items))],
    ['an item twice', (items) => sequenceOf([items[0], ...items.slice(0, -1)])],
    ['other paths', (items) => sequenceOf(items.map((item) => ({ ...item, encryptedPath: 'YWJj' })))],
    [
      'contents of other files with their hashes',
      (items) =>
        sequenceOf(
          rotated(items).map((item, i) => ({ ...item, encryptedPath: items[i]?.['encryptedPath'] })),
        ),
    ],
    [
      'altered contents',
      (items) => sequenceOf(contents(items, (content) => content.map((byte) => byte ^ 1))),
    ],
    ['cut contents', (items) => sequenceOf(contents(items, (content) => content.subarray(1)))],
    ['texts as contents', (items) => sequenceOf(contents(items, () => 'a text'))],
    ['only 404', (items) => sequenceOf(items.map((item) => ({ ...item, status: 404, content: null })))],
    ['only 304', (items) => sequenceOf(items.map((item) => ({ ...item, status: 304 })))],
    ['texts for statuses', (items) => sequenceOf(items.map((item) => ({ ...item, status: '200' })))],
    ['arrays', (items) => sequenceOf(items.map((item) => Object.values(item)))],
    ['no CBOR', () => Buffer.from('<html>welcome to the hotel</html>')],
    ['deep nesting', () => Buffer.alloc(500_000, 0x81)],
    [
      'an item without an end',
      () => Buffer.concat([Buffer.from('5b00000000ffffffff', 'hex'), randomBytes(4e6)]),
    ],
    ['an indefinite length', () => Buffer.from('bf6d656e63727970746564506174686161ff', 'hex')],
    ['a key twice', () => Buffer.from('a2616101616102', 'hex')],
    ['a number without meaning', () => Buffer.from('1c', 'hex')],
  ];
  it.each(firstOf(2, ANSWERS))(
    '%s: nothing wrong is written, and the next honest answer brings everything',
    async (_, alter) => {
      await uploadedNotes();
      proxy.set(async (asked, forward) => {
        const answered = await forward();
        if (!DOWN.test(`${asked.method} ${asked.path}`)) return answered;
        return { ...answered, body: alter(itemsIn(answered.body)) };
      });
      const { conflicts } = await device('phone').sync();
      expect(proxy.count(DOWN)).toBeGreaterThan(0);
      expect(conflicts).toEqual([]);
      await expectNothingWrong();
      proxy.set();
      await sync('phone');
      await expectAlike();
    },
  );

  itDeep.each([0, 1, 500, 3_000])(
    'a connection that breaks after %i bytes: every note arrives',
    async (bytes) => {
      await uploadedNotes();
      proxy.set(async (asked, forward) => {
        const answered = await forward();
        if (!DOWN.test(`${asked.method} ${asked.path}`)) return answered;
        return { ...answered, body: answered.body.subarray(0, bytes), isCut: true };
      });
      await sync('phone');
      await expectAlike();
    },
  );

  itDeep('an old version under the new hash is not accepted', async () => {
    await uploadedNotes();
    const old = new Map<string, unknown>();
    proxy.set(async (asked, forward) => {
      const answered = await forward();
      if (!DOWN.test(`${asked.method} ${asked.path}`)) return answered;
      const items = itemsIn(answered.body).map((item) => {
        const path = String(item['encryptedPath']);
        if (!old.has(path)) old.set(path, item['content']);
        return { ...item, content: old.get(path) };
      });
      return { ...answered, body: sequenceOf(items) };
    });
    const phone = device('phone');
    await phone.sync();
    const before = await phone.files();
    for (let i = 0; i < NOTES; i++) await appendFile(join(home, 'laptop', `${i}.md`), 'an edit\n');
    await sync('laptop');
    expect((await phone.sync()).leftOver).toHaveLength(NOTES);
    expect(await phone.files()).toEqual(before);
    proxy.set();
    await sync('phone');
    await expectAlike();
  });
});

describe('hostile answers to batches of uploads', () => {
  const json = (results: unknown): Buffer => Buffer.from(JSON.stringify({ cursor: 1, results }));

  const ANSWERS: [string, (results: Result[]) => Buffer][] = [
    ['fewer results', (results) => json(results.slice(1))],
    ['more results', (results) => json([...results, ...results])],
    ['no results', () => json([])],
    ['null', () => json(null)],
    ['results of null', (results) => json(results.map(() => null))],
    ['no JSON', () => Buffer.from('<html>welcome to the hotel</html>')],
    ['another order', (results) => json(results.toReversed())],
    ['other paths', (results) => json(results.map((result) => ({ ...result, encryptedPath: 'YWJj' })))],
    [
      'other hashes',
      (results) => json(results.map((result) => ({ ...result, contentHash: '0'.repeat(64) }))),
    ],
    ['no versions', (results) => json(results.map((result) => ({ ...result, version: null })))],
    ['statuses of other items', (results) => json(results.map((result) => ({ ...result, status: 204 })))],
    ['400 for all', (results) => json(results.map((result) => ({ ...result, status: 400 })))],
    ['409 for all', (results) => json(results.map((result) => ({ ...result, status: 409 })))],
    ['412 for what was stored', (results) => json(results.map((result) => ({ ...result, status: 412 })))],
  ];
  it.each(firstOf(1, ANSWERS))('%s: every note is on the service once', async (_, alter) => {
    let isFirst = true;
    proxy.set(async (asked, forward) => {
      const answered = await forward();
      if (!UP.test(`${asked.method} ${asked.path}`) || !isFirst) return answered;
      isFirst = false;
      const { results } = JSON.parse(answered.body.toString()) as { results: Result[] };
      return { ...answered, body: alter(results) };
    });
    await writeNotes(NOTES);
    expect((await device('laptop').sync()).conflicts).toEqual([]);
    await sync('laptop');
    expect(await workspace.status()).toEqual({ cursor: NOTES, fileCount: NOTES });
    await sync('phone');
    await expectAlike();
  });

  itDeep.each([204, 400, 409, 412, 500, 507])(
    '%i for items that were not stored: none counts as uploaded, and the next sync uploads all',
    async (status) => {
      await writeNotes(NOTES);
      proxy.set((asked, forward) => {
        if (!UP.test(`${asked.method} ${asked.path}`)) return forward();
        const results = itemsIn(asked.body).map((item) => ({ ...item, content: null, status, version: 1 }));
        return Promise.resolve(answer(200, json(results)));
      });
      const { leftOver, uploaded } = await device('laptop').sync();
      expect([leftOver.length, uploaded.size]).toEqual([NOTES, 0]);
      expect((await device('laptop').files()).size).toBe(NOTES);
      proxy.set();
      await sync('laptop');
      expect(await workspace.status()).toEqual({ cursor: NOTES, fileCount: NOTES });
      await sync('phone');
      await expectAlike();
    },
  );
});
