import { encode } from 'cborg';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Session } from '../../../client/src/core/api/index.js';
import { collect, type HttpOptions } from '../../../client/src/core/http/index.js';
import { cborMaps } from '../../../client/src/core/workspace/cbor-maps.js';
import { Pace } from '../../../client/src/core/workspace/pace.js';
import {
  ContentMismatch,
  type Download,
  type DownloadOutcome,
  NeedsBootstrap,
  type Upload,
  type UploadOutcome,
  Workspace,
} from '../../../client/src/core/workspace/index.js';
import { FaultProxy, type Weather } from '../../kit/fault-proxy.js';
import { sha256, startService, type TestService, TestUser, TestWorkspace } from '../../kit/index.js';
import { itemsIn } from '../../kit/batches.js';

let service: TestService;
let proxy: FaultProxy;
let user: TestUser;
const servers: Server[] = [];
beforeAll(async () => {
  service = await startService();
  proxy = await FaultProxy.before(service.url);
  user = await service.user('ada');
});
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await proxy.close();
  await service.close();
});
beforeEach(() => {
  proxy.heal();
  proxy.requests.length = 0;
});

const options: HttpOptions = {
  ...{ silenceMs: 20_000, slowestBytesPerSecond: 10_000_000 },
  ...{ sleep: () => Promise.resolve(), retries: { attempts: 2 } },
};

/** Enough attempts for networks that lose every third request. */
const persistent: HttpOptions = { ...options, silenceMs: 3_000, retries: { attempts: 6 } };

/** A workspace through the proxy (`remote`) and directly (`real`). */
async function open(url = proxy.url, http = options): Promise<{ remote: Workspace; real: TestWorkspace }> {
  const real = await user.workspace();
  return { remote: at(url, real, http), real };
}

const at = (url: string, { id }: TestWorkspace, http = options, device = 'phone'): Workspace =>
  new Workspace(Session.withAccessToken(url, user.token, http), id, device);

const pathOf = (name: string): string => Buffer.from(name).toString('base64url');
const upload = (name: string, content: Buffer | string, base?: string | null): Upload => ({
  encryptedPath: pathOf(name),
  contentHash: sha256(content),
  content: Buffer.from(content),
  ...(base !== undefined && { base }),
});
const download = (name: string, encryptedSize = 10, have?: string): Download => ({
  encryptedPath: pathOf(name),
  encryptedSize,
  have,
});

/** The outcomes by name. */
async function uploaded(outcomes: AsyncIterable<UploadOutcome>) {
  const byName = new Map<string, UploadOutcome['outcome']>();
  for await (const { upload, outcome } of outcomes) {
    const name = Buffer.from(upload.encryptedPath, 'base64url').toString();
    expect(byName.has(name)).toBe(false);
    byName.set(name, outcome);
  }
  return byName;
}

async function downloaded(outcomes: AsyncIterable<DownloadOutcome>) {
  const byName = new Map<string, DownloadOutcome['outcome']>();
  for await (const { download, outcome } of outcomes) {
    const name = Buffer.from(download.encryptedPath, 'base64url').toString();
    expect(byName.has(name)).toBe(false);
    byName.set(name, outcome);
  }
  return byName;
}

const contentOf = (outcome: DownloadOutcome['outcome'] | undefined): string =>
  outcome?.kind === 'content' ? Buffer.from(outcome.content).toString() : `${outcome?.kind}`;

const asked = (suffix: string) => proxy.requests.filter(({ path }) => path.endsWith(suffix)).length;

/** The real service, except for requests that `answer` handles. */
async function impostor(
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<boolean> | boolean,
): Promise<string> {
  const server = createServer((request, response) => {
    void (async () => {
      if (await answer(request, response)) return;
      const { method = '', url = '', headers } = request;
      const body = ['GET', 'HEAD'].includes(method) ? undefined : await buffer(request);
      const kept = Object.entries(headers).filter(
        ([name]) => !/^(host|connection|content-length|transfer-encoding)$/.test(name),
      );
      const passed = await fetch(service.url + url, {
        method,
        headers: Object.fromEntries(kept) as Record<string, string>,
        body: body ?? null,
      });
      response.writeHead(passed.status, Object.fromEntries(passed.headers));
      response.end(Buffer.from(await passed.arrayBuffer()));
    })();
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('the change log', () => {
  it('is read page by page, by pulls and as a snapshot', async () => {
    const { remote, real } = await open();
    for (const name of ['a', 'b', 'c']) await real.put(pathOf(name), name).expect(201);
    const changes = [];
    for await (const page of remote.log.changes(0)) changes.push(...page.changes);
    expect(changes.map(({ encryptedPath, action }) => [encryptedPath, action])).toEqual(
      ['a', 'b', 'c'].map((name) => [pathOf(name), 'upsert']),
    );
    expect(await remote.log.pull(1, 1)).toMatchObject({ cursor: 2, hasMore: true });
    const pages = [];
    for await (const page of remote.log.snapshot()) pages.push(page);
    expect(pages.flatMap(({ files }) => files.map((file) => file.encryptedPath))).toHaveLength(3);
    expect(pages[0]?.cursor).toBe(3);
    expect(await remote.log.status()).toEqual({ cursor: 3, fileCount: 3 });
  });

  it('keeps the cursor of the first page of a snapshot, whatever is written meanwhile', async () => {
    const url = await impostor((request, response) => {
      if (!request.url?.includes('/sync/snapshot')) return false;
      const isFirst = !request.url.includes('pageCursor');
      const page = {
        files: [],
        cursor: isFirst ? 5 : 9,
        nextPageCursor: isFirst ? 'x' : null,
        hasMore: isFirst,
      };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(page));
      return true;
    });
    const { remote } = await open(url);
    const pages = await collectAll(remote.log.snapshot());
    expect(pages.map(({ cursor }) => cursor)).toEqual([5, 5]);
  });

  it('requires a snapshot for a cursor of another log', async () => {
    const { remote } = await open();
    await expect(remote.log.pull(9_000)).rejects.toThrow(NeedsBootstrap);
  });

  it('deletes files as this device has seen them, and reports others as conflicts', async () => {
    const { remote, real } = await open();
    for (const name of ['a', 'b']) await real.put(pathOf(name), name).expect(201);
    const { cursor } = await remote.log.status();
    await real.put(pathOf('b'), 'newer').expect(200);
    const deletions = ['a', 'b'].map((name) => ({ encryptedPath: pathOf(name), contentHash: sha256(name) }));
    const conflicts = await remote.log.pushDeletions(cursor, deletions);
    expect(conflicts).toEqual([
      { encryptedPath: pathOf('b'), serverVersion: 2, serverContentHash: sha256('newer') },
    ]);
    expect((await real.list()).map((file) => file.encrypted_path)).toEqual([pathOf('b')]);
  });

  it.each([
    ['pull', { changes: [], cursor: 5, hasMore: true }],
    ['pull', { changes: [], cursor: 4, hasMore: false }],
    ['pull', { changes: [], cursor: '9', hasMore: false }],
    [
      'pull',
      {
        changes: [
          { encryptedPath: '../x', action: 'upsert', contentHash: sha256(''), encryptedSize: 1, version: 1 },
        ],
        cursor: 6,
        hasMore: false,
      },
    ],
    [
      'pull',
      {
        changes: [
          { encryptedPath: 'YQ', action: 'chmod', contentHash: sha256(''), encryptedSize: 1, version: 1 },
        ],
        cursor: 6,
        hasMore: false,
      },
    ],
    [
      'pull',
      {
        changes: [{ encryptedPath: 'YQ', action: 'upsert', contentHash: 'x', encryptedSize: 1, version: 1 }],
        cursor: 6,
        hasMore: false,
      },
    ],
    [
      'pull',
      {
        changes: [
          { encryptedPath: 'YQ', action: 'upsert', contentHash: sha256(''), encryptedSize: -1, version: 1 },
        ],
        cursor: 6,
        hasMore: false,
      },
    ],
    ['push', { cursor: 1, accepted: ['YQ', 'Yg'], conflicts: [] }],
    ['push', { cursor: 1, accepted: [], conflicts: [] }],
    ['push', { cursor: 1, accepted: ['YQ'], conflicts: [{ encryptedPath: 'YQ' }] }],
    ['snapshot', { files: [], cursor: 1, nextPageCursor: 'same', hasMore: true }],
    ['snapshot', { files: [{ encryptedPath: 'YQ' }], cursor: 1, nextPageCursor: null, hasMore: false }],
  ])('refuses an invalid response to %s: %#', async (route, answer) => {
    const url = await impostor((request, response) => {
      if (!request.url?.includes(`/sync/${route}`)) return false;
      request.resume();
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(answer));
      return true;
    });
    const { remote } = await open(url);
    const reading = async () => {
      if (route === 'pull') await remote.log.pull(5);
      if (route === 'push') await remote.log.pushDeletions(1, [{ encryptedPath: 'YQ' }]);
      if (route === 'snapshot') await collectAll(remote.log.snapshot());
    };
    await expect(reading()).rejects.toMatchObject({ name: 'InvalidAnswer' });
  });
});

async function collectAll<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe('single files', () => {
  it('are replaced only in the version that was seen', async () => {
    const { remote, real } = await open();
    const { files } = remote;
    expect(await files.upload(upload('a', 'one', null))).toEqual({ kind: 'stored', version: 1 });
    expect(await files.upload(upload('a', 'two', null))).toEqual({ kind: 'outdated' });
    expect(await files.upload(upload('a', 'two', sha256('other')))).toEqual({ kind: 'outdated' });
    expect(await files.upload(upload('a', 'two', sha256('one')))).toEqual({ kind: 'stored', version: 2 });
    expect(await files.upload(upload('a', 'three'))).toEqual({ kind: 'stored', version: 3 });
    expect((await real.versions(pathOf('a'))).map((version) => version.device_id)).toEqual(
      Array(3).fill('phone'),
    );
  });

  it('get no second version when an upload is repeated after a lost response', async () => {
    const { remote, real } = await open();
    await remote.files.upload(upload('a', 'one', null));
    const faults = [true];
    proxy.set(() => (faults.pop() ? { kind: 'cut after sending' } : undefined));
    expect(await remote.files.upload(upload('a', 'two', sha256('one')))).toEqual({
      kind: 'stored',
      version: 2,
    });
    expect(await real.versions(pathOf('a'))).toHaveLength(2);
  });

  it('are uploaded from a stream, and downloaded as one', async () => {
    const { remote } = await open();
    const content = Buffer.alloc(3_000_000, 'abc');
    // oxlint-disable-next-line typescript/require-await
    async function* stream() {
      for (let at = 0; at < content.length; at += 70_000) yield content.subarray(at, at + 70_000);
    }
    const streamed = { ...upload('large', content, null), content: { open: stream, length: content.length } };
    expect(await remote.files.upload(streamed)).toEqual({ kind: 'stored', version: 1 });
    const opened = await remote.files.open(pathOf('large'));
    expect(opened).toMatchObject({ contentHash: sha256(content), encryptedSize: content.length });
    expect(Buffer.from(await collect(opened.chunks)).equals(content)).toBe(true);
  });

  it.each(['truncate', 'half-close'] as const)('resume an interrupted download: %s', async (kind) => {
    const { remote, real } = await open();
    const content = Buffer.from(Array.from({ length: 400_000 }, (_, index) => index % 251));
    await real.put(pathOf('a'), content).expect(201);
    const faults = [0.3, 0.9, 0.1];
    proxy.set(({ method }) => {
      const share = method === 'GET' ? faults.shift() : undefined;
      return share === undefined ? undefined : kind === 'truncate' ? { kind, share } : { kind };
    });
    const { content: received } = await remote.files.download(pathOf('a'));
    expect(Buffer.from(received).equals(content)).toBe(true);
    expect(proxy.requests).toHaveLength(4);
  });

  it('are never assembled from two versions', async () => {
    const { remote, real } = await open();
    await real.put(pathOf('a'), Buffer.alloc(400_000, 1)).expect(201);
    const faults = [true];
    proxy.set(() => (faults.pop() ? { kind: 'truncate' } : undefined));
    const opened = await remote.files.open(pathOf('a'));
    await real.put(pathOf('a'), Buffer.alloc(400_000, 2)).expect(200);
    await expect(collect(opened.chunks)).rejects.toThrow(ContentMismatch);
  });

  it('are checked against their hash', async () => {
    const url = await impostor((request, response) => {
      if (request.method !== 'GET') return false;
      const text = 'altered';
      response.writeHead(200, { etag: `"${sha256('the content')}"`, 'content-length': text.length });
      response.end(text);
      return true;
    });
    const { remote } = await open(url);
    await expect(remote.files.download(pathOf('a'))).rejects.toThrow(ContentMismatch);
  });
});

describe('versions, checkpoints and trash', () => {
  it('can be created, listed, restored and deleted', async () => {
    const { remote, real } = await open();
    for (const text of ['one', 'two']) await real.put(pathOf('a'), text);
    const checkpoint = await remote.history.createCheckpoint('bGFiZWw=');
    await real.put(pathOf('b'), 'later').expect(201);
    expect((await remote.history.checkpoints()).map(({ id }) => id)).toEqual([checkpoint.id]);
    expect((await remote.history.summary(checkpoint.id, 0)).entries).toHaveLength(1);
    const manifest = await remote.history.restoreManifest(checkpoint.id);
    expect(manifest.entries).toContainEqual(
      expect.objectContaining({ encryptedPath: pathOf('b'), op: 'delete' }),
    );
    const [, first] = await remote.history.versions(pathOf('a'));
    const { content } = await remote.files.download(pathOf('a'), first?.id);
    expect(Buffer.from(content).toString()).toBe('one');
    expect(await remote.history.restore(pathOf('a'), first?.id ?? '')).toMatchObject({
      version: 3,
      contentHash: sha256('one'),
    });
    await real.delete(pathOf('b')).expect(200);
    expect((await collectAll(remote.history.trash())).flat()).toEqual([
      expect.objectContaining({ encrypted_path: pathOf('b'), content_hash: sha256('later') }),
    ]);
    expect((await remote.history.usage()).documents.usedBytes).toBeGreaterThan(0);
    await remote.history.deleteCheckpoint(checkpoint.id);
    await expect(remote.history.deleteCheckpoint(checkpoint.id)).rejects.toMatchObject({ status: 404 });
  });

  it('do not restore twice after a lost response', async () => {
    const { remote, real } = await open();
    await real.put(pathOf('a'), 'one').expect(201);
    const [version] = await real.versions(pathOf('a'));
    proxy.set(() => ({ kind: 'cut after sending' }));
    await expect(remote.history.restore(pathOf('a'), version!.id)).rejects.toMatchObject({
      name: 'NetworkError',
    });
    expect(await real.versions(pathOf('a'))).toHaveLength(2);
  });
});

describe('many uploads', () => {
  it('take few requests and have an outcome each', async () => {
    const { remote, real } = await open();
    await real.put(pathOf('taken'), 'x').expect(201);
    const many = Array.from({ length: 700 }, (_, index) => upload(`note ${index}`, `content ${index}`, null));
    const outcomes = await uploaded(
      remote.uploadMany([
        ...many,
        upload('taken', 'y', null),
        { ...upload('wrong', 'z'), contentHash: sha256('another') },
        upload('large', Buffer.alloc(1_200_000), null),
      ]),
    );
    expect(outcomes.size).toBe(703);
    expect(outcomes.get('taken')).toEqual({ kind: 'outdated' });
    expect(outcomes.get('wrong')).toMatchObject({ kind: 'failed', error: { name: 'ApiError', status: 400 } });
    expect([...outcomes.values()].filter(({ kind }) => kind === 'stored')).toHaveLength(701);
    expect((await real.status()).fileCount).toBe(702);
    expect(asked('/batch-upload')).toBeLessThan(8);
    expect(proxy.requests.filter(({ method }) => method === 'PUT')).toHaveLength(1);
  });

  it('consume their items on demand', async () => {
    const { remote } = await open();
    let made = 0;
    // oxlint-disable-next-line typescript/require-await
    async function* endless() {
      for (;;) yield upload(`note ${made++}`, Buffer.alloc(200_000, made));
    }
    for await (const { outcome } of remote.uploadMany(endless())) {
      expect(outcome.kind).toBe('stored');
      break;
    }
    expect(made).toBeLessThan(100);
  });

  it.each([404, 405])('are sent one by one to a service without batches: %d', async (status) => {
    const { remote, real } = await open();
    proxy.set(({ path }) => (path.includes('/batch-') ? { kind: 'answer', status } : undefined));
    const names = ['a', 'b', 'c'];
    const outcomes = await uploaded(remote.uploadMany(names.map((name) => upload(name, name, null))));
    expect([...outcomes.values()].map(({ kind }) => kind)).toEqual(Array(3).fill('stored'));
    expect((await real.status()).fileCount).toBe(3);
    await uploaded(remote.uploadMany([upload('d', 'd'), upload('e', 'e')]));
    expect(asked('/batch-upload')).toBe(1);
  });

  it.each([408, 413, 502])('are sent in smaller batches after a %d', async (status) => {
    const { remote, real } = await open();
    let refusals = 0;
    proxy.set(({ path }) =>
      path.includes('/batch-') && refusals++ < 3 ? { kind: 'answer', status } : undefined,
    );
    const many = Array.from({ length: 40 }, (_, index) => upload(`note ${index}`, `content ${index}`, null));
    const outcomes = await uploaded(remote.uploadMany(many));
    expect([...outcomes.values()].map(({ kind }) => kind)).toEqual(Array(40).fill('stored'));
    expect((await real.status()).fileCount).toBe(40);
  });

  it('are stored once each over a network that cuts, loses and truncates requests', async () => {
    const { remote, real } = await open(proxy.url, persistent);
    const faults = ['cut after sending', 'truncate', 'blackhole', 'truncate request', 'reset'] as const;
    let at = 0;
    proxy.set(() => (at++ % 3 === 0 ? { kind: faults[((at / 3) % faults.length) | 0]! } : undefined));
    const many = Array.from({ length: 60 }, (_, index) =>
      upload(`note ${index}`, Buffer.alloc(50_000, index), null),
    );
    const outcomes = await uploaded(remote.uploadMany(many));
    proxy.heal();
    expect([...outcomes.values()].map(({ kind }) => kind)).toEqual(Array(60).fill('stored'));
    const log = await real.log();
    expect(log).toHaveLength(60);
  });

  it('fail when the network, the workspace or the right to write is gone', async () => {
    const { remote } = await open();
    proxy.set(() => ({ kind: 'reset' }));
    const many = ['a', 'b', 'c'].map((name) => upload(name, name));
    await expect(uploaded(remote.uploadMany(many))).rejects.toMatchObject({ name: 'NetworkError' });
    expect(proxy.requests.length).toBeLessThan(10);
    proxy.heal();
    const gone = new Workspace(remote.session, crypto.randomUUID(), 'phone');
    await expect(uploaded(gone.uploadMany(many))).rejects.toMatchObject({ status: 404 });
    const free = await service.newcomer(`free-${Math.random()}`);
    const session = Session.withAccessToken(service.url, free.token, options);
    const readOnly = new Workspace(session, remote.id, 'phone');
    await expect(uploaded(readOnly.uploadMany(many))).rejects.toMatchObject({ name: 'ApiError' });
  });

  it.each<[string, (results: Record<string, unknown>[]) => unknown[]]>([
    ['too few', (results) => results.slice(0, 2)],
    ['too many', (results) => [...results, results[0]]],
    ['in another order', ([a, b, c]) => [b, a, c]],
    ['of other paths', ([a, b, c]) => [a, { ...b, encryptedPath: 'Zm9yZWlnbg' }, c]],
    ['with another hash', ([a, b, c]) => [a, { ...b, contentHash: sha256('another') }, c]],
    ['no objects', ([a, , c]) => [a, 7, c]],
    ['without a version', ([a, b, c]) => [a, { ...b, version: null }, c]],
    ['with an unknown status', ([a, b, c]) => [a, { ...b, status: 302 }, c]],
  ])('whose results are %s fail only for those items', async (_, alter) => {
    const url = await impostor(async (request, response) => {
      if (!request.url?.endsWith('/batch-upload')) return false;
      const body = await buffer(request);
      const { authorization = '' } = request.headers;
      const headers = { authorization, 'content-type': 'application/cbor-seq', 'x-device-id': 'phone' };
      const passed = await fetch(service.url + request.url, { method: 'POST', headers, body });
      const { results } = (await passed.json()) as { results: Record<string, unknown>[] };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ cursor: 1, results: alter(results) }));
      return true;
    });
    const { remote } = await open(url);
    const outcomes = await uploaded(
      remote.uploadMany(['a', 'b', 'c'].map((name) => upload(name, name, null))),
    );
    const failed = [...outcomes].filter(([, { kind }]) => kind === 'failed');
    for (const [, outcome] of failed) expect(outcome).toMatchObject({ error: { name: 'InvalidAnswer' } });
    const expected: Record<string, string[]> = {
      'too few': ['c'],
      'too many': [],
      'in another order': ['a', 'b'],
    };
    expect(failed.map(([name]) => name).sort()).toEqual(expected[_] ?? ['b']);
  });
});

describe('many downloads', () => {
  it('take few requests, are verified and have an outcome each', async () => {
    const { remote, real } = await open();
    const many = Array.from({ length: 300 }, (_, index) => upload(`note ${index}`, `content ${index}`));
    await uploaded(
      remote.uploadMany([...many, upload('large', Buffer.alloc(1_200_000, 'x')), upload('same', 'same')]),
    );
    await real.put(pathOf('deleted'), 'x').expect(201);
    await real.delete(pathOf('deleted')).expect(200);
    proxy.requests.length = 0;
    const outcomes = await downloaded(
      remote.downloadMany([
        ...many.map((_, index) => download(`note ${index}`)),
        download('large', 1_200_000),
        download('huge', 40_000_000),
        download('same', 4, sha256('same')),
        download('deleted'),
      ]),
    );
    for (let index = 0; index < 300; index++)
      expect(contentOf(outcomes.get(`note ${index}`))).toBe(`content ${index}`);
    expect(contentOf(outcomes.get('large'))).toHaveLength(1_200_000);
    expect(['huge', 'same', 'deleted'].map((name) => outcomes.get(name)?.kind)).toEqual([
      ...['large', 'unchanged', 'missing'],
    ]);
    expect(proxy.requests.filter(({ method }) => method === 'POST').length).toBeLessThan(6);
  });

  it('that are larger than the log said are fetched singly', async () => {
    const { remote, real } = await open();
    for (const name of ['a', 'b']) await real.put(pathOf(name), Buffer.alloc(1_300_000, name)).expect(201);
    const outcomes = await downloaded(remote.downloadMany([download('a'), download('b')]));
    expect(['a', 'b'].map((name) => contentOf(outcomes.get(name)).length)).toEqual([1_300_000, 1_300_000]);
  });

  it('report files that have become too large for memory instead of loading them', async () => {
    const { remote, real } = await open();
    await real.put(pathOf('grown'), Buffer.alloc(1_300_000)).expect(201);
    const outcomes = await downloaded(remote.downloadMany([download('grown')], { largeBytes: 1_200_000 }));
    expect(outcomes.get('grown')).toEqual({ kind: 'large' });
    const same = download('grown', 10, sha256(Buffer.alloc(1_300_000)));
    expect((await downloaded(remote.downloadMany([same]))).get('grown')).toEqual({ kind: 'unchanged' });
  });

  it.each([404, 405])('are fetched one by one from a service without batches: %d', async (status) => {
    const { remote, real } = await open();
    for (const name of ['a', 'b']) await real.put(pathOf(name), name).expect(201);
    proxy.set(({ path }) => (path.includes('/batch-') ? { kind: 'answer', status } : undefined));
    const outcomes = await downloaded(remote.downloadMany(['a', 'b', 'gone'].map((name) => download(name))));
    expect(['a', 'b', 'gone'].map((name) => contentOf(outcomes.get(name)))).toEqual(['a', 'b', 'missing']);
    await downloaded(remote.downloadMany([download('a'), download('b')]));
    expect(asked('/batch-download')).toBe(1);
  });

  it('of a workspace that is gone fail instead of reporting missing files', async () => {
    const { remote } = await open();
    const gone = new Workspace(remote.session, crypto.randomUUID(), 'phone');
    for (const names of [['a'], ['a', 'b']]) {
      const downloads = names.map((name) => download(name));
      await expect(downloaded(gone.downloadMany(downloads))).rejects.toMatchObject({ status: 404 });
    }
  });

  it.each<[string, Weather]>([
    ['truncated', ({ path }) => (path.includes('/batch-') ? { kind: 'truncate', share: 0.4 } : undefined)],
    ['half-closed', ({ path }) => (path.includes('/batch-') ? { kind: 'half-close' } : undefined)],
    ['stalled', ({ path }) => (path.includes('/batch-') ? { kind: 'stall' } : undefined)],
    [
      'cut now and then',
      (() => {
        let at = 0;
        return () => (at++ % 2 ? { kind: 'truncate' } : undefined);
      })(),
    ],
  ])('that are %s are repeated', async (_, weather) => {
    const { remote, real } = await open(proxy.url, persistent);
    const names = Array.from({ length: 12 }, (_, index) => `note ${index}`);
    for (const name of names) await real.put(pathOf(name), name.repeat(5_000)).expect(201);
    proxy.set(weather);
    const outcomes = await downloaded(remote.downloadMany(names.map((name) => download(name))));
    for (const name of names) expect(contentOf(outcomes.get(name))).toBe(name.repeat(5_000));
  });

  it('fail when the network is gone', async () => {
    const { remote } = await open();
    proxy.set(() => ({ kind: 'reset' }));
    const downloads = ['a', 'b', 'c'].map((name) => download(name));
    await expect(downloaded(remote.downloadMany(downloads))).rejects.toMatchObject({ name: 'NetworkError' });
    expect(proxy.requests.length).toBeLessThan(10);
  });

  const alter = (map: object, values: object): unknown => ({ ...map, ...values });
  it.each<[string, (maps: object[]) => unknown[], Record<string, string>]>([
    ['reordered', ([a, b, c]) => [b, a, c], { a: 'failed', b: 'failed' }],
    ['foreign', ([a, b, c]) => [a, alter(b!, { encryptedPath: 'eA' }), c], { b: 'failed' }],
    ['altered', ([a, b, c]) => [a, alter(b!, { content: Buffer.from('other') }), c], { b: 'failed' }],
    ['of another type', ([a, b, c]) => [a, alter(b!, { content: 'b' }), c], { b: 'failed' }],
    ['without a hash', ([a, b, c]) => [a, alter(b!, { contentHash: 7 }), c], { b: 'failed' }],
    ['unchanged without being asked', ([a, b, c]) => [a, alter(b!, { status: 304 }), c], { b: 'failed' }],
    ['with an unknown status', ([a, b, c]) => [a, alter(b!, { status: 'x' }), c], { b: 'failed' }],
    ['duplicated', ([a, b, c]) => [a, a, b, c], { b: 'failed', c: 'failed' }],
    ['surplus', ([a, b, c]) => [a, b, c, a, b], {}],
    ['missing', ([a]) => [a], {}],
    ['none', () => [], {}],
    ['not maps', ([a]) => [a, [1, 2]], {}],
    ['nested too deeply', ([a]) => [a, { content: nested(3_000) }], { b: 'failed' }],
    ['too large', ([a]) => [a, { content: Buffer.alloc(2_000_000) }], {}],
  ])('whose maps are %s fail only for those items, or are fetched singly', async (_, change, failing) => {
    const url = await impostor(async (request, response) => {
      if (!request.url?.endsWith('/batch-download')) return false;
      const body = await buffer(request);
      const { authorization = '' } = request.headers;
      const headers = { authorization, 'content-type': 'application/json' };
      const passed = await fetch(service.url + request.url, { method: 'POST', headers, body });
      const maps = itemsIn(new Uint8Array(await passed.arrayBuffer()));
      response.setHeader('content-type', 'application/cbor-seq');
      response.end(Buffer.concat(change(maps).map((map) => encode(map))));
      return true;
    });
    const { remote, real } = await open(url);
    for (const name of ['a', 'b', 'c']) await real.put(pathOf(name), name).expect(201);
    const outcomes = await downloaded(remote.downloadMany(['a', 'b', 'c'].map((name) => download(name))));
    const expected = { a: 'a', b: 'b', c: 'c', ...failing };
    expect(Object.fromEntries([...outcomes].map(([name, outcome]) => [name, contentOf(outcome)]))).toEqual(
      expected,
    );
  });
});

const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let at = 0; at < depth; at++) value = [value];
  return value;
};

it('an endless response is read only up to the largest size of an item', async () => {
  let read = 0;
  // oxlint-disable-next-line typescript/require-await
  async function* endless(): AsyncGenerator<Uint8Array, void> {
    yield Buffer.from('5b00000000ffffffff', 'hex'); // a byte string of 4 GiB
    for (; read < 1_000; read++) yield Buffer.alloc(64 * 1024);
  }
  await expect(cborMaps(endless(), 1_000_000).next()).rejects.toThrow('too large');
  expect(read * 64 * 1024).toBeLessThan(1_200_000);
});

describe('assets', () => {
  it('are uploaded once despite a lost response, and listed, renamed, read and deleted', async () => {
    const { remote } = await open();
    const envelope = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 256));
    const faults = [true];
    proxy.set(() => (faults.pop() ? { kind: 'cut after sending' } : undefined));
    await remote.assets.upload('aW1hZ2U', envelope);
    expect(await remote.assets.list()).toEqual([
      { encryptedFilename: 'aW1hZ2U', sizeBytes: envelope.length, uploadedAt: expect.any(Number) },
    ]);
    await expect(remote.assets.upload('aW1hZ2U', envelope)).rejects.toMatchObject({ status: 409 });
    await remote.assets.rename('aW1hZ2U', 'cGhvdG8');
    expect(Buffer.from(await remote.assets.download('cGhvdG8')).equals(envelope)).toBe(true);
    expect((await remote.history.usage()).assets.usedBytes).toBeGreaterThanOrEqual(envelope.length);
    await remote.assets.delete('cGhvdG8');
    await remote.assets.delete('cGhvdG8');
    await expect(remote.assets.download('cGhvdG8')).rejects.toMatchObject({ status: 404 });
  });

  it.each(['not base64!', 'QQ==\n', 'QR=='])('are not read from %j', async (text) => {
    const url = await impostor((_, response) => {
      response.end(text);
      return true;
    });
    const { remote } = await open(url);
    await expect(remote.assets.download('YQ')).rejects.toMatchObject({ name: 'InvalidAnswer' });
  });
});

describe('the pace of transfers', () => {
  it('makes batches smaller and fewer on a slow link, and larger on a fast one', () => {
    const pace = new Pace();
    const first = pace.bytes;
    pace.took(first, 1_000);
    expect([pace.bytes, pace.lanes]).toEqual([first * 2, 3]);
    pace.took(1_000_000, 20_001); // 50 kB/s
    expect(pace.bytes).toBeCloseTo(250_000, -3);
    expect(pace.lanes).toBe(2);
    pace.tooMuch();
    expect(pace.lanes).toBe(1);
    for (let at = 0; at < 10; at++) pace.tooMuch();
    expect(pace.bytes).toBe(64 * 1024);
    for (let at = 0; at < 20; at++) pace.took(8 * 1024 * 1024, 10);
    expect([pace.bytes, pace.lanes]).toEqual([8 * 1024 * 1024, 4]);
  });
});
