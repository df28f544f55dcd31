import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import supertest from 'supertest';
import { FileContentLoader } from '../../../src/domain/files/files.service.js';
import { Database } from '../../../src/platform/database/index.js';
import { NotFound } from '../../../src/platform/http/index.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { eventually } from '../../kit/eventually.js';
import { footprint } from '../../kit/footprint.js';
import { bytes, sha256, startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { answerOf, headOf, openSocket, type RawAnswer, received, sendRaw } from '../../kit/raw-http.js';

const KIB = 1024;
const MIB = 1024 * KIB;
const MAX_FILE_BYTES = 2 * MIB;
const INLINE_BLOB_BYTES = 64 * KIB;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

let service: TestService;
beforeAll(async () => {
  service = await startService({ env: { MAX_FILE_BYTES: String(MAX_FILE_BYTES) } });
});
afterAll(() => service.close());

let names = 0;
/** A workspace of a new user. */
async function workspace(): Promise<TestWorkspace> {
  return (await service.user(`files-${++names}`)).workspace();
}

function headersOf({ user }: TestWorkspace, content: Buffer | string): Record<string, string> {
  return {
    Authorization: `Bearer ${user.token}`,
    'Content-Type': 'application/octet-stream',
    'X-Content-Hash': sha256(content),
    'X-Device-Id': 'laptop',
  };
}

/** An upload whose path and headers are sent exactly as given. */
function putRaw(
  notes: TestWorkspace,
  encPath: string,
  content: Buffer | string,
  headers: Record<string, string> = {},
): Promise<RawAnswer> {
  const all = { ...headersOf(notes, content), ...headers };
  return sendRaw(notes.user.url, { method: 'PUT', path: notes.file(encPath), headers: all, body: content });
}

/** An upload that declares no length. */
function putChunked(
  notes: TestWorkspace,
  encPath: string,
  content: Buffer,
): Promise<{ status: number; body: unknown }> {
  return new Promise((resolve, reject) => {
    const url = notes.user.url + notes.file(encPath);
    const request = httpRequest(url, { method: 'PUT', headers: headersOf(notes, content) }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += String(chunk)));
      response.on('end', () => resolve({ status: response.statusCode!, body: JSON.parse(text) }));
    });
    request.on('error', reject);
    for (let sent = 0; sent < content.length; sent += 50_000)
      request.write(content.subarray(sent, sent + 50_000));
    request.end();
  });
}

/** Runs requests that must be refused, and checks that they have left nothing behind. */
async function expectNothingStored(notes: TestWorkspace, refused: () => Promise<void>): Promise<void> {
  const before = await footprint(service, notes.id);
  await refused();
  await eventually(async () => expect(await footprint(service, notes.id)).toEqual(before));
}

function expectFlat(answer: { status: number; body: unknown }, status: number): void {
  expect(answer.status).toBe(status);
  const body: unknown = typeof answer.body === 'string' ? JSON.parse(answer.body) : answer.body;
  expect(body).toEqual({ error: expect.any(String) });
}

/** By hash: jest takes half a second to compare large buffers. */
function expectSameBytes(body: unknown, content: Buffer): void {
  expect({ size: (body as Buffer).length, hash: sha256(body as Buffer) }).toEqual({
    size: content.length,
    hash: sha256(content),
  });
}

describe('PUT file', () => {
  it('is 201 for a new path and returns its fields in camelCase', async () => {
    const notes = await workspace();
    const { body } = await notes.put('bm90ZQ', 'first').expect(201);
    expect(body).toEqual({
      id: expect.stringMatching(UUID),
      workspaceId: notes.id,
      encryptedPath: 'bm90ZQ',
      contentHash: sha256('first'),
      encryptedSize: 5,
      version: 1,
    });
  });

  it('is 200 for an existing path: same id, version + 1', async () => {
    const notes = await workspace();
    const first = await notes.put('bm90ZQ', 'first').expect(201);
    const second = await notes.put('bm90ZQ', 'second', 'phone').expect(200);
    expect(second.body).toEqual({
      ...first.body,
      contentHash: sha256('second'),
      encryptedSize: 6,
      version: 2,
    });
    expect(await footprint(service, notes.id)).toMatchObject({ files: 1, versions: 2, changes: 2, blobs: 2 });
  });

  it.each([
    ['inline', Buffer.from('same')],
    ['in the store', Buffer.alloc(100_000, 's')],
  ])('changes nothing when the live file has this content already, %s', async (_, content) => {
    const notes = await workspace();
    const first = await notes.put('bm90ZQ', content).expect(201);
    await expectNothingStored(notes, async () => {
      const again = await notes.put('bm90ZQ', content, 'phone').expect(200);
      expect(again.body).toEqual(first.body);
      const inCapitals = await notes
        .put('bm90ZQ', content)
        .set('X-Content-Hash', sha256(content).toUpperCase());
      expect(inCapitals.body).toEqual(first.body);
    });
    expect(await notes.status()).toEqual({ cursor: 1, fileCount: 1 });
  });

  it('stores earlier content as a new version', async () => {
    const notes = await workspace();
    await notes.put('bm90ZQ', 'a').expect(201);
    await notes.put('bm90ZQ', 'b').expect(200);
    expect((await notes.put('bm90ZQ', 'a').expect(200)).body.version).toBe(3);
  });

  it.each([
    ['the same content', 'first'],
    ['another content', 'second'],
  ])('revives a deleted path with %s: same id, version + 1, 200', async (_, content) => {
    const notes = await workspace();
    const first = await notes.put('bm90ZQ', 'first').expect(201);
    await notes.delete('bm90ZQ').expect(200);
    const revived = await notes.put('bm90ZQ', content).expect(200);
    expect(revived.body).toMatchObject({ id: first.body.id, version: 2, contentHash: sha256(content) });
    expect((await notes.get('bm90ZQ').expect(200)).body).toEqual(Buffer.from(content));
    expect(await notes.status()).toEqual({ cursor: 3, fileCount: 1 });
  });

  it('stores the same content under two paths as two files', async () => {
    const notes = await workspace();
    const one = await notes.put('YQ', 'same').expect(201);
    const two = await notes.put('Yg', 'same').expect(201);
    expect(two.body.id).not.toBe(one.body.id);
  });

  it('compares paths exactly: padding and case make another file', async () => {
    const notes = await workspace();
    for (const encPath of ['YQ', 'YQ=', 'YQ==', 'yq', 'Yq', '-', '_'])
      await notes.put(encPath, encPath).expect(201);
    for (const encPath of ['YQ', 'YQ=', 'YQ==', 'yq', 'Yq', '-', '_']) {
      expect((await notes.get(encPath).expect(200)).body).toEqual(Buffer.from(encPath));
    }
    expect((await notes.status()).fileCount).toBe(7);
  });
});

describe('a body', () => {
  it.each([
    ['no bytes', 0, 0],
    ['one byte', 1, 0],
    ['one byte below the inline limit', INLINE_BLOB_BYTES - 1, 0],
    ['the inline limit', INLINE_BLOB_BYTES, 0],
    ['one byte above the inline limit', INLINE_BLOB_BYTES + 1, 1],
    ['one byte less than 1 MiB', MIB - 1, 1],
    ['1 MiB', MIB, 1],
    ['one byte more than 1 MiB', MIB + 1, 1],
    ['one byte less than MAX_FILE_BYTES', MAX_FILE_BYTES - 1, 1],
    ['MAX_FILE_BYTES', MAX_FILE_BYTES, 1],
  ])('of %s is returned byte for byte, sent with a length or chunked', async (_, size, filesOnDisk) => {
    const notes = await workspace();
    const content = randomBytes(size);
    const declared = await notes.put('ZGVjbGFyZWQ', content).expect(201);
    expect(declared.body).toMatchObject({ encryptedSize: size, contentHash: sha256(content) });
    expect((await footprint(service, notes.id)).onDisk).toHaveLength(filesOnDisk);
    expect(await putChunked(notes, 'Y2h1bmtlZA', content)).toMatchObject({
      status: 201,
      body: { encryptedSize: size },
    });

    for (const encPath of ['ZGVjbGFyZWQ', 'Y2h1bmtlZA']) {
      const { body, headers } = await notes.get(encPath).expect(200);
      expect(headers['content-length']).toBe(String(size));
      expect(sha256(body as Buffer)).toBe(sha256(content));
    }
  });

  it('is 413 above MAX_FILE_BYTES and stores nothing, sent with a length or chunked', async () => {
    const notes = await workspace();
    const content = randomBytes(MAX_FILE_BYTES + 1);
    await expectNothingStored(notes, async () => {
      expectFlat(await notes.put('YQ', content), 413);
      expectFlat(await putChunked(notes, 'YQ', content), 413);
    });
  });

  it('is refused before it is sent when its declared length is too large', async () => {
    const notes = await workspace();
    const headers = {
      ...headersOf(notes, ''),
      'Content-Length': String(MAX_FILE_BYTES + 1),
      Expect: '100-continue',
    };
    expectFlat(await sendRaw(service.url, { method: 'PUT', path: notes.file('YQ'), headers }), 413);
  });

  it('is accepted after 100-continue', async () => {
    const notes = await workspace();
    expect((await putRaw(notes, 'YQ', 'body', { Expect: '100-continue' })).status).toBe(201);
  });

  it.each([
    ['inline', 10],
    ['in the store', 100_000],
    ['above 1 MiB', MIB + 10],
  ])('with another hash is 400 and stores nothing, %s', async (_, size) => {
    const notes = await workspace();
    await notes.put('ZXhpc3Rz', 'exists').expect(201);
    const content = randomBytes(size);
    await expectNothingStored(notes, async () => {
      expectFlat(await notes.put('bmV3', content).set('X-Content-Hash', sha256('other')), 400);
      expectFlat(await notes.put('ZXhpc3Rz', content).set('X-Content-Hash', sha256('exists')), 400);
    });
    expect((await notes.get('ZXhpc3Rz').expect(200)).body).toEqual(Buffer.from('exists'));
  });

  it.each(['gzip', 'br', 'deflate', 'gzip, identity', 'x-anything'])(
    'with Content-Encoding: %s is refused with 415',
    async (encoding) => {
      const notes = await workspace();
      await expectNothingStored(notes, async () => {
        expectFlat(await putRaw(notes, 'YQ', 'a', { 'Content-Encoding': encoding }), 415);
      });
    },
  );
});

describe('an upload whose length is wrong', () => {
  const CONTENT = randomBytes(200_000);

  it.each([
    ['inline', CONTENT.subarray(0, 1000)],
    ['in the store', CONTENT],
  ])('leaves nothing when the client stops half-way, %s', async (_, content) => {
    const notes = await workspace();
    const isStored = content.length > INLINE_BLOB_BYTES;
    await expectNothingStored(notes, async () => {
      const socket = openSocket(service.url);
      const headers = { Host: 'x', ...headersOf(notes, content), 'Content-Length': String(content.length) };
      socket.write(headOf('PUT', notes.file('YQ'), headers));
      socket.write(content.subarray(0, content.length / 2 + INLINE_BLOB_BYTES));
      if (isStored) await eventually(async () => expect((await footprint(service, notes.id)).blobs).toBe(1));
      socket.destroy();
    });
    await notes.put('YQ', content).expect(201); // the path is usable again
  });

  it('gets 400 when it declares more than it sends', async () => {
    const notes = await workspace();
    await expectNothingStored(notes, async () => {
      const socket = openSocket(service.url);
      const headers = {
        Host: 'x',
        ...headersOf(notes, CONTENT),
        'Content-Length': String(CONTENT.length + 1),
      };
      socket.write(headOf('PUT', notes.file('YQ'), headers));
      socket.end(CONTENT);
      expectFlat(answerOf(await received(socket)), 400);
    });
  });

  it('gets 400 when it declares less than it sends', async () => {
    const notes = await workspace();
    await expectNothingStored(notes, async () => {
      expectFlat(await putRaw(notes, 'YQ', CONTENT, { 'Content-Length': '10' }), 400);
    });
  });

  it.each([
    ['no number', { 'Content-Length': 'abc' }],
    ['negative', { 'Content-Length': '-1' }],
    ['an exponent', { 'Content-Length': '1e1' }],
    ['beyond all integers', { 'Content-Length': '99999999999999999999999' }],
    ['given twice', { 'Content-Length': '1\r\nContent-Length: 2' }],
    ['beside chunks', { 'Content-Length': '1', 'Transfer-Encoding': 'chunked' }],
  ])('gets 4xx for a length that is %s', async (_, headers) => {
    const notes = await workspace();
    await expectNothingStored(notes, async () => {
      const { status, body } = await putRaw(notes, 'YQ', 'a', headers);
      expect([400, 413]).toContain(status);
      expectFlat({ status, body }, status);
    });
  });

  it('gets 400 for malformed chunks', async () => {
    const notes = await workspace();
    await expectNothingStored(notes, async () => {
      const socket = openSocket(service.url);
      const headers = {
        Host: 'x',
        ...headersOf(notes, 'a'),
        'Transfer-Encoding': 'chunked',
        Connection: 'close',
      };
      socket.write(headOf('PUT', notes.file('YQ'), headers));
      socket.write('1\r\na\r\nxyz\r\n\r\n');
      expectFlat(answerOf(await received(socket)), 400);
    });
  });
});

describe('the headers of an upload', () => {
  const hash = sha256('a');
  it.each<[string, Record<string, string>]>([
    ['no X-Content-Hash', { 'X-Content-Hash': '' }],
    ['a hash of 63 characters', { 'X-Content-Hash': hash.slice(1) }],
    ['a hash of 65 characters', { 'X-Content-Hash': `${hash}0` }],
    ['a hash that is no hex', { 'X-Content-Hash': 'g'.repeat(64) }],
    ['a hash in quotes', { 'X-Content-Hash': `"${hash}"` }],
    ['a hash under a name', { 'X-Content-Hash': `sha256:${hash}` }],
    ['two hashes', { 'X-Content-Hash': `${hash}\r\nX-Content-Hash: ${hash}` }],
    ['no X-Device-Id', { 'X-Device-Id': '' }],
    ['a device id of 129 characters', { 'X-Device-Id': 'd'.repeat(129) }],
    ['a device id with a space', { 'X-Device-Id': 'my laptop' }],
    ['a device id with a tab', { 'X-Device-Id': 'my\tlaptop' }],
    ['a device id with bytes above ASCII', { 'X-Device-Id': 'm\u00fcller' }],
    ['a device id with DEL', { 'X-Device-Id': 'a\u007f' }],
    ['two device ids', { 'X-Device-Id': 'a\r\nX-Device-Id: b' }],
    ['an If-Match that is no list of tags', { 'If-Match': hash }],
    ['an empty If-Match', { 'If-Match': '' }],
    ['an If-Match of * in quotes', { 'If-Match': '"*"' }],
    ['an If-None-Match that is not *', { 'If-None-Match': `"${hash}"` }],
    ['an If-None-Match in quotes', { 'If-None-Match': '"*"' }],
  ])('with %s are 400', async (_, headers) => {
    const notes = await workspace();
    await expectNothingStored(notes, async () => expectFlat(await putRaw(notes, 'YQ', 'a', headers), 400));
  });

  it.each<[string, string]>([
    ['X-Content-Hash', 'none'],
    ['X-Device-Id', 'none'],
  ])('without %s are 400', async (name) => {
    const notes = await workspace();
    const headers = Object.fromEntries(Object.entries(headersOf(notes, 'a')).filter(([key]) => key !== name));
    await expectNothingStored(notes, async () => {
      expectFlat(
        await sendRaw(service.url, { method: 'PUT', path: notes.file('YQ'), headers, body: 'a' }),
        400,
      );
    });
  });

  it.each([
    ['a'],
    ['d'.repeat(128)],
    [`!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~`],
    ['9b2f0f9e-0000-4000-8000-000000000000'],
  ])('may have any visible ASCII as the device id: %s', async (device) => {
    const notes = await workspace();
    expect((await putRaw(notes, 'YQ', 'a', { 'X-Device-Id': device })).status).toBe(201);
    expect((await notes.log())[0]!.changedByDevice).toBe(device);
  });

  it('may have any Content-Type or none', async () => {
    const notes = await workspace();
    for (const type of ['application/json', 'text/plain; charset=utf-8', 'multipart/form-data', undefined]) {
      const content = `{"${type}":`;
      const all = Object.entries({ ...headersOf(notes, content), 'Content-Type': type });
      const headers = Object.fromEntries(all.filter(([, value]) => value !== undefined)) as Record<
        string,
        string
      >;
      const answer = await sendRaw(service.url, {
        method: 'PUT',
        path: notes.file('YQ'),
        headers,
        body: content,
      });
      expect(answer.status).toBeLessThan(300);
      const got = await notes.get('YQ').expect(200);
      expect(got.headers['content-type']).toBe('application/octet-stream');
      expect(got.body).toEqual(Buffer.from(content));
    }
  });

  it.each(['nonsense', 'application/', '/', ';', ''])(
    'may have the malformed Content-Type "%s", which is ignored',
    async (type) => {
      const notes = await workspace();
      expect((await putRaw(notes, 'YQ', 'a', { 'Content-Type': type })).status).toBe(201);
      const got = await notes.get('YQ').expect(200);
      expect(got.headers['content-type']).toBe('application/octet-stream');
    },
  );
});

describe('an encrypted path', () => {
  it('may have 4,096 characters', async () => {
    const notes = await workspace();
    const longest = `${'a'.repeat(4094)}==`;
    await notes.put(longest, 'long').expect(201);
    await notes.put(longest, 'longer').expect(200);
    expect((await notes.get(longest).expect(200)).body).toEqual(Buffer.from('longer'));
    expect((await notes.list())[0]!.encrypted_path).toBe(longest);
    await notes.delete(longest).expect(200);
    expect((await notes.log()).map(({ encryptedPath }) => encryptedPath)).toEqual([
      longest,
      longest,
      longest,
    ]);
  });

  it.each([
    ['4,097 characters', 'a'.repeat(4097)],
    ['12,000 characters', 'a'.repeat(12_000)],
    ['=', '='],
    ['==', '=='],
    ['three =', 'a==='],
    ['= in the middle', 'a=b'],
    ['a dot', '.'],
    ['two dots', '..'],
    ['an escaped dot', '%2E'],
    ['dots and slashes', '..%2F..%2Fetc%2Fpasswd'],
    ['an escaped slash', 'a%2Fb'],
    ['an escaped backslash', 'a%5Cb'],
    ['NUL', '%00'],
    ['NUL at the end', 'YQ%00'],
    ['a line feed at the end', 'YQ%0A'],
    ['a blank', 'a%20b'],
    ['a plus', 'a+b'],
    ['a tilde', 'a~b'],
    ['a semicolon', 'a;b'],
    ['an escaped umlaut', '%C3%A4'],
    ['an emoji', '%F0%9F%97%92'],
    ['a full-width letter', '%EF%BC%A1'],
    ['half an escape', '%'],
    ['an escape of no character', '%FF'],
    ['raw bytes above ASCII', '\u00e4'],
  ])('of %s is 400 on every route', async (_, encPath) => {
    const notes = await workspace();
    await expectNothingStored(notes, async () => {
      expectFlat(await putRaw(notes, encPath, 'a'), 400);
      for (const method of ['GET', 'DELETE']) {
        const headers = headersOf(notes, '');
        expectFlat(await sendRaw(service.url, { method, path: notes.file(encPath), headers }), 400);
      }
    });
  });

  it('is 4xx when empty', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'a').expect(201);
    await expectNothingStored(notes, async () => {
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const answer = await sendRaw(service.url, {
          method,
          path: notes.file(''),
          headers: headersOf(notes, ''),
        });
        expect([400, 404]).toContain(answer.status);
        expectFlat(answer, answer.status);
      }
    });
  });

  it('may be escaped in the URL, which is decoded once', async () => {
    const notes = await workspace();
    expect((await putRaw(notes, '%61%3D', 'a')).status).toBe(201);
    expect((await notes.get('a=').expect(200)).body).toEqual(Buffer.from('a'));
    expectFlat(await putRaw(notes, '%2561', 'a'), 400);
  });
});

describe('a conditional upload', () => {
  const tag = (content: string): string => `"${sha256(content)}"`;
  const other = tag('something else');

  it('replaces only the head that If-Match names', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    await notes.put('YQ', 'two').set('If-Match', tag('one')).expect(200);
    await expectNothingStored(notes, async () => {
      expectFlat(await notes.put('YQ', 'three').set('If-Match', tag('one')), 412);
      expectFlat(await notes.put('YQ', Buffer.alloc(100_000)).set('If-Match', tag('one')), 412);
    });
    expect((await notes.get('YQ').expect(200)).body).toEqual(Buffer.from('two'));
  });

  it('accepts a list in If-Match, and * for any head', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    await notes
      .put('YQ', 'two')
      .set('If-Match', `${other}, ${tag('one')}`)
      .expect(200);
    await notes.put('YQ', 'three').set('If-Match', '*').expect(200);
    await notes
      .put('YQ', 'four')
      .set('If-Match', `${other},${tag('one')}`)
      .expect(412);
  });

  it('never replaces a deleted or missing file with If-Match', async () => {
    const notes = await workspace();
    await notes.put('Z29uZQ', 'gone').expect(201);
    await notes.delete('Z29uZQ').expect(200);
    await expectNothingStored(notes, async () => {
      for (const condition of ['*', tag('gone'), other]) {
        await notes.put('Z29uZQ', 'new').set('If-Match', condition).expect(412);
        await notes.put('bmV2ZXI', 'new').set('If-Match', condition).expect(412);
      }
    });
  });

  it('never replaces a file with a weak If-Match', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    await expectNothingStored(notes, async () => {
      for (const condition of [`W/${tag('one')}`, `W/${tag('one')}, ${other}`])
        await notes.put('YQ', 'two').set('If-Match', condition).expect(412);
    });
    // Repeating a stored upload is always 200: a proxy may weaken tags.
    await notes
      .put('YQ', 'one')
      .set('If-Match', `W/${tag('none')}`)
      .expect(200);
  });

  it('creates only with If-None-Match: *', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').set('If-None-Match', '*').expect(201);
    await expectNothingStored(notes, async () => {
      expectFlat(await notes.put('YQ', 'two').set('If-None-Match', '*'), 412);
    });
    await notes.delete('YQ').expect(200);
    const revived = await notes.put('YQ', 'three').set('If-None-Match', '*').expect(200);
    expect(revived.body.version).toBe(2);
  });

  it('is 200 when it repeats an upload that succeeded', async () => {
    const notes = await workspace();
    const created = await notes.put('YQ', 'one').set('If-None-Match', '*').expect(201);
    const again = await notes.put('YQ', 'one').set('If-None-Match', '*').expect(200);
    expect(again.body).toEqual(created.body);

    const updated = await notes.put('YQ', 'two').set('If-Match', tag('one')).expect(200);
    const repeated = await notes.put('YQ', 'two').set('If-Match', tag('one')).expect(200);
    expect(repeated.body).toEqual(updated.body);
    expect(await notes.status()).toEqual({ cursor: 2, fileCount: 1 });
  });
});

describe.each([
  ['inline', randomBytes(1000)],
  ['in the store', randomBytes(200_000)],
])('GET file, %s', (_, content) => {
  const size = content.length;
  const etag = `"${sha256(content)}"`;
  let notes: TestWorkspace;
  beforeAll(async () => {
    notes = await workspace();
    await notes.put('YQ', content).expect(201);
  });

  function get(headers: Record<string, string> = {}): supertest.Test {
    return notes.get('YQ').set(headers);
  }
  function head(headers: Record<string, string> = {}): supertest.Test {
    return notes.user.request('head', notes.file('YQ')).set(headers);
  }

  it('returns the bytes with their type, length and ETag', async () => {
    const { body, headers } = await get().expect(200);
    expectSameBytes(body, content);
    expect(headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': String(size),
      'accept-ranges': 'bytes',
      etag,
    });
    expect(headers['cache-control']).toMatch(/private/);
  });

  it('answers HEAD with the same headers and no body', async () => {
    const whole = await get().expect(200);
    const answer = await head().expect(200);
    expect(answer.text).toBeFalsy();
    const own = { date: '', 'x-request-id': '' };
    expect({ ...answer.headers, ...own }).toEqual({ ...whole.headers, ...own });
  });

  it.each([
    ['the tag', etag],
    ['the tag as a weak one', `W/${etag}`],
    ['a list with the tag', `"other", ${etag}`],
    ['*', '*'],
  ])('is 304 without a body for If-None-Match with %s', async (_, condition) => {
    for (const request of [get, head]) {
      const answer = await request({ 'If-None-Match': condition }).expect(304);
      expect(answer.headers.etag).toBe(etag);
      expect(answer.headers['content-length']).toBeUndefined();
    }
    await get({ 'If-None-Match': condition, Range: 'bytes=0-0' }).expect(304);
  });

  it.each(['"other"', sha256(content), '"*"', '""', 'nonsense', ''])(
    'is 200 for If-None-Match: %s',
    async (condition) => {
      expectSameBytes((await get({ 'If-None-Match': condition }).expect(200)).body, content);
    },
  );

  it.each([
    ['the first byte', 'bytes=0-0', 0, 0],
    ['the last byte', `bytes=${size - 1}-${size - 1}`, size - 1, size - 1],
    ['a part', 'bytes=10-19', 10, 19],
    ['the rest from a byte on', `bytes=${size - 7}-`, size - 7, size - 1],
    ['the last bytes', 'bytes=-7', size - 7, size - 1],
    ['more last bytes than there are', `bytes=-${size + 1}`, 0, size - 1],
    ['an end beyond the end', `bytes=5-${size * 2}`, 5, size - 1],
    ['everything', 'bytes=0-', 0, size - 1],
  ])('answers a range with 206: %s', async (_, range, start, end) => {
    const { body, headers } = await get({ Range: range }).expect(206);
    expect(headers['content-range']).toBe(`bytes ${start}-${end}/${size}`);
    expect(headers['content-length']).toBe(String(end - start + 1));
    expect(headers.etag).toBe(etag);
    expectSameBytes(body, content.subarray(start, end + 1));
  });

  it.each([`bytes=${size}-`, `bytes=${size}-${size}`, 'bytes=999999999-', 'bytes=-0'])(
    'is 416 for a range outside the file: %s',
    async (range) => {
      const { headers, body } = await get({ Range: range }).expect(416);
      expect(headers['content-range']).toBe(`bytes */${size}`);
      expect(JSON.parse(String(body))).toEqual({ error: expect.any(String) });
    },
  );

  it.each([
    'bytes=0-0,5-9',
    'bytes=0-0, -1',
    'lines=0-1',
    'bytes',
    'bytes=',
    'bytes=a-b',
    'bytes=9-5',
    '0-5',
    '',
  ])('is the whole file for several ranges, other units and an invalid range: %s', async (range) => {
    const { body, headers } = await get({ Range: range }).expect(200);
    expect(headers['content-range']).toBeUndefined();
    expect(headers['content-length']).toBe(String(size));
    expectSameBytes(body, content);
  });

  it('honours If-Range for this version only', async () => {
    const Range = 'bytes=0-9';
    expect((await get({ Range, 'If-Range': etag }).expect(206)).body).toEqual(content.subarray(0, 10));
    for (const other of ['"other"', `W/${etag}`, new Date().toUTCString(), 'nonsense']) {
      expectSameBytes((await get({ Range, 'If-Range': other }).expect(200)).body, content);
    }
    await get({ 'If-Range': etag }).expect(200);
  });

  it('ignores ranges for HEAD and returns the whole length', async () => {
    for (const range of ['bytes=0-9', `bytes=${size}-`]) {
      const { headers } = await head({ Range: range }).expect(200);
      expect(headers['content-length']).toBe(String(size));
      expect(headers['content-range']).toBeUndefined();
    }
  });
});

describe('GET file', () => {
  it('returns the right content or 404 for each of 80 concurrent requests', async () => {
    const notes = await workspace();
    const paths = Array.from({ length: 40 }, (_, i) => `path-${i}`);
    for (const path of paths.filter((_, i) => i % 3 !== 0)) await notes.put(path, `content of ${path}`);
    const answers = await Promise.all([...paths, ...paths].map((path) => notes.get(path).ok(() => true)));
    answers.forEach(({ status, body }, i) => {
      const isThere = (i % 40) % 3 !== 0;
      expect(status).toBe(isThere ? 200 : 404);
      if (isThere) expect((body as Buffer).toString()).toBe(`content of ${paths[i % 40]}`);
    });
  });

  it('returns the right content or 404 for each read that shares a round trip', async () => {
    const notes = await workspace();
    const paths = Array.from({ length: 40 }, (_, i) => `path-${i}`);
    const isThere = (path: string): boolean => paths.indexOf(path) % 3 === 0;
    for (const path of paths.filter(isThere)) await notes.put(path, `content of ${path}`).expect(201);
    const ref = { id: notes.id, caller: { userId: notes.user.id, needsSubscription: false } };
    const contentLoader = service.app.get(FileContentLoader);
    const run = jest.spyOn(service.app.get(Database), 'run');
    const answers = await Promise.allSettled(paths.map((path) => contentLoader.content(ref, path)));
    const roundTrips = run.mock.calls.filter(([{ name }]) => name === 'files.heads');
    run.mockRestore();
    expect(roundTrips.length).toBeLessThan(paths.length);
    for (const [i, path] of paths.entries()) {
      const expected = isThere(path)
        ? { value: { contentHash: sha256(`content of ${path}`), bytes: Buffer.from(`content of ${path}`) } }
        : { reason: expect.any(NotFound) };
      expect(answers[i]).toMatchObject(expected);
    }
  });

  it('returns the newest version', async () => {
    const notes = await workspace();
    for (const content of ['one', 'two', 'three']) await notes.put('YQ', content);
    const { body, headers } = await notes.get('YQ').expect(200);
    expect(body).toEqual(Buffer.from('three'));
    expect(headers.etag).toBe(`"${sha256('three')}"`);
  });

  it('returns no bytes for an empty file, and 416 for any range of it', async () => {
    const notes = await workspace();
    await notes.put('ZW1wdHk', '').expect(201);
    const { body, headers } = await notes.get('ZW1wdHk').expect(200);
    expect(body).toEqual(Buffer.alloc(0));
    expect(headers).toMatchObject({ 'content-length': '0', etag: `"${sha256('')}"` });
    for (const range of ['bytes=0-', 'bytes=0-0', 'bytes=-1']) {
      const answer = await notes.get('ZW1wdHk').set('Range', range).expect(416);
      expect(answer.headers['content-range']).toBe('bytes */0');
    }
  });

  it('is 404 for an unknown or deleted path, as is HEAD', async () => {
    const notes = await workspace();
    await notes.put('Z29uZQ', 'gone').expect(201);
    await notes.delete('Z29uZQ').expect(200);
    for (const encPath of ['Z29uZQ', 'bmV2ZXI']) {
      const answer = await notes.user.get(notes.file(encPath)).expect(404);
      expect(answer.body).toEqual({ error: 'file not found' });
      expect(answer.headers.etag).toBeUndefined();
      await notes.user.request('head', notes.file(encPath)).expect(404);
      await notes.user.get(notes.file(encPath)).set('If-None-Match', '*').expect(404);
    }
  });

  it("does not find another workspace's file", async () => {
    const notes = await workspace();
    await notes.put('YQ', 'mine').expect(201);
    const other = await notes.user.workspace('other');
    await other.get('YQ').expect(404);
    await other.delete('YQ').expect(404);
    expect((await notes.get('YQ').expect(200)).body).toEqual(Buffer.from('mine'));
  });

  it('is 500 with an error body when the store has lost the bytes', async () => {
    const notes = await workspace();
    await notes.put('bG9zdA', randomBytes(100_000)).expect(201);
    await rm(join(service.dataDir, 'blobs', notes.id), { recursive: true });
    for (const headers of [{}, { Range: 'bytes=0-9' }]) {
      const answer = await notes.user.get(notes.file('bG9zdA')).set(headers).expect(500);
      expect(answer.body).toEqual({ error: 'Internal server error' });
      expect(answer.headers['content-type']).toMatch(/^application\/json/);
      expect(answer.headers.etag).toBeUndefined();
      expect(answer.headers['content-range']).toBeUndefined();
    }
    expect(service.logged()).toContain('missing from the store');
  });
});

describe('a service with INLINE_BLOB_BYTES=0', () => {
  let storeOnly: TestService;
  beforeAll(async () => {
    storeOnly = await startService({ beside: service, env: { INLINE_BLOB_BYTES: '0' } });
  });
  afterAll(() => storeOnly.close());

  it.each([0, 1, 1000, MIB + 1])(
    'keeps a body of %d bytes in the store, where any instance can read it',
    async (size) => {
      const notes = await workspace();
      const there = notes.as(notes.user.at(storeOnly.url));
      const content = randomBytes(size);
      await there.put('YQ', content).expect(201);
      await there.put('YQ', content).expect(200);
      expect(await footprint(service, notes.id)).toMatchObject({ blobs: 1, onDisk: [size] });
      for (const at of [notes, there])
        expect(sha256((await at.get('YQ').expect(200)).body as Buffer)).toBe(sha256(content));

      const refused = await there.put('YQ', `${size}`).set('X-Content-Hash', sha256('other'));
      expect(refused.status).toBe(400);
      expect(await footprint(service, notes.id)).toMatchObject({ blobs: 1, onDisk: [size] });
    },
  );
});

describe('DELETE file', () => {
  it('removes the file from every view and keeps its versions', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    await notes.put('YQ', 'second').expect(200);
    const before = await footprint(service, notes.id);
    const { body } = await notes.delete('YQ', 'phone').expect(200);
    expect(body).toEqual({ ok: true });

    await notes.get('YQ').expect(404);
    expect(await notes.list()).toEqual([]);
    expect(await notes.status()).toEqual({ cursor: 3, fileCount: 0 });
    expect(await footprint(service, notes.id)).toEqual({ ...before, changes: 3 });
    expect((await notes.log()).at(-1)).toEqual({
      encryptedPath: 'YQ',
      action: 'delete',
      contentHash: sha256('second'),
      encryptedSize: 6,
      version: 2,
      changedAt: expect.stringMatching(TIME),
      changedByDevice: 'phone',
    });
  });

  it('is 404 for an unknown and for a deleted file', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    await notes.delete('YQ').expect(200);
    await expectNothingStored(notes, async () => {
      expectFlat(await notes.delete('YQ'), 404);
      expectFlat(await notes.delete('bmV2ZXI'), 404);
    });
    expect((await notes.status()).cursor).toBe(2);
  });

  it('deletes the file once for eight concurrent requests', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => notes.delete('YQ', `device-${n}`)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(7);
    expect(await notes.status()).toEqual({ cursor: 2, fileCount: 0 });
  });

  it.each<[string, Record<string, string>]>([
    ['none', {}],
    ['an empty one', { 'X-Device-Id': '' }],
    ['129 characters', { 'X-Device-Id': 'd'.repeat(129) }],
    ['a blank in it', { 'X-Device-Id': 'my laptop' }],
  ])('needs an X-Device-Id: with %s it is 400', async (_, headers) => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    await expectNothingStored(notes, async () => {
      expectFlat(await notes.user.delete(notes.file('YQ')).set(headers), 400);
    });
    await notes.get('YQ').expect(200);
  });
});

describe('GET files', () => {
  it('lists the live files in snake_case, oldest first', async () => {
    const notes = await workspace();
    const ids: string[] = [];
    for (const encPath of ['Yw', 'YQ', 'Yg', 'Z29uZQ'])
      ids.push((await notes.put(encPath, encPath).expect(201)).body.id);
    service.clock.advance(1000);
    await notes.put('YQ', Buffer.alloc(100_000)).expect(200);
    await notes.delete('Z29uZQ').expect(200);

    const { body } = await notes.user.get(`${notes.path}/files`).expect(200);
    const item = (index: number, encPath: string, content: Buffer | string, version: number): object => ({
      id: ids[index],
      encrypted_path: encPath,
      content_hash: sha256(content),
      encrypted_size: content.length,
      version,
      created_at: expect.stringMatching(TIME),
      updated_at: expect.stringMatching(TIME),
    });
    expect(body).toEqual({
      files: [item(0, 'Yw', 'Yw', 1), item(1, 'YQ', Buffer.alloc(100_000), 2), item(2, 'Yg', 'Yg', 1)],
    });
    const [first, second] = body.files;
    expect(first.updated_at).toBe(first.created_at);
    expect(Date.parse(second.updated_at)).toBeGreaterThanOrEqual(Date.parse(second.created_at) + 1000);
  });

  it('is empty at first', async () => {
    const notes = await workspace();
    const { body } = await notes.user.get(`${notes.path}/files`).expect(200);
    expect(body).toEqual({ files: [] });
  });

  it('lists a revived file again, with its first id and creation time', async () => {
    const notes = await workspace();
    await notes.put('YQ', 'one').expect(201);
    const [before] = await notes.list();
    await notes.delete('YQ').expect(200);
    await notes.put('YQ', 'two').expect(200);
    expect(await notes.list()).toEqual([
      { ...before, content_hash: sha256('two'), version: 2, updated_at: expect.stringMatching(TIME) },
    ]);
  });
});

describe('GET files with many files', () => {
  /** Rows as uploads leave them, every tenth deleted, with ids in another order than the paths. */
  async function withFiles(count: number, pathLength: number): Promise<TestWorkspace> {
    const notes = await workspace();
    await service.database.query(
      `INSERT INTO files (workspace_id, id, encrypted_path, blob_id, content_hash, encrypted_size, version, is_deleted, created_at, updated_at)
       SELECT $1, gen_random_uuid(), rpad(n::text, $3, 'A'), gen_random_uuid(), repeat('a', 64), n, 1 + n % 3, n % 10 = 0, now(), now()
       FROM generate_series(1, $2::int) n`,
      [notes.id, count, pathLength],
    );
    return notes;
  }

  /** Counts the pages that are read from now on. */
  function countPages(): { count: number; stop: () => void } {
    const database = service.app.get(Database);
    const run = database.run.bind(database);
    const pages = { count: 0, stop: () => void Object.assign(database, { run }) };
    database.run = (statement, values) => {
      if (statement.name === 'files.page') pages.count++;
      return run(statement, values);
    };
    return pages;
  }

  it.each([999, 1000, 1111, 3333])('lists each live file of %d once, ordered by id', async (count) => {
    const notes = await withFiles(count, 8);
    const rows = await service.database.query<
      Record<string, unknown> & { created_at: Date; updated_at: Date }
    >(
      `SELECT id, encrypted_path, content_hash, encrypted_size::int, version, created_at, updated_at
       FROM files WHERE workspace_id = $1 AND NOT is_deleted ORDER BY id`,
      [notes.id],
    );
    const files = rows.map((row) => ({
      ...row,
      created_at: row.created_at.toISOString(),
      updated_at: row.updated_at.toISOString(),
    }));
    expect(files).toHaveLength(count - Math.floor(count / 10));
    const pages = countPages();
    const { text, headers } = await notes.user.get(`${notes.path}/files`).expect(200);
    pages.stop();
    expect(pages.count).toBe(1 + Math.floor(files.length / 1000));
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(text === JSON.stringify({ files })).toBe(true);
  });

  it('waits for a slow client, and stops when it disconnects', async () => {
    const notes = await withFiles(20_000, 4000); // 18 pages, 80 MB: more than the sockets' buffers take
    const pages = countPages();
    const socket = openSocket(service.url);
    const Authorization = `Bearer ${notes.user.token}`;
    socket.write(headOf('GET', `${notes.path}/files`, { Host: 'x', Authorization }));
    await new Promise((resolve) => socket.once('readable', resolve));
    let before = -1;
    while (before !== pages.count) {
      before = pages.count;
      for (let n = 0; n < 10; n++) await notes.status();
    }
    expect(pages.count).toBeLessThan(10);
    socket.destroy();
    for (let n = 0; n < 20; n++) await notes.status();
    pages.stop();
    expect(pages.count).toBeLessThanOrEqual(before + 1);
  });

  it('is cut off when the database fails between two pages, and is 500 when it fails before', async () => {
    const notes = await withFiles(2500, 8);
    const database = service.app.get(Database);
    const run = database.run.bind(database);
    const failAt = (page: number): void => {
      let pages = 0;
      database.run = (statement, values) =>
        statement.name === 'files.page' && ++pages === page
          ? Promise.reject(new Error('the database is away'))
          : run(statement, values);
    };
    try {
      failAt(2);
      await expect(notes.user.get(`${notes.path}/files`)).rejects.toThrow('aborted');
      failAt(1);
      expectFlat(await notes.user.get(`${notes.path}/files`), 500);
    } finally {
      Object.assign(database, { run });
    }
  });

  it('is cut off when the workspace is deleted between two pages', async () => {
    const notes = await withFiles(2500, 8);
    const database = service.app.get(Database);
    const run = database.run.bind(database);
    let pages = 0;
    database.run = async (statement, values) => {
      if (statement.name === 'files.page' && ++pages === 2) {
        await notes.user.delete(notes.path).expect(200);
        await service.app.get(WorkspacePurge).idle();
      }
      return run(statement, values);
    };
    try {
      await expect(notes.user.get(`${notes.path}/files`)).rejects.toThrow('aborted');
    } finally {
      Object.assign(database, { run });
    }
  });

  it('answers HEAD with the type and no body', async () => {
    const notes = await withFiles(10, 8);
    const answer = await notes.user.request('head', `${notes.path}/files`).expect(200);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer.text).toBeFalsy();
  });
});

describe('the order of checks', () => {
  it('is the caller, then path and headers, then the body', async () => {
    const notes = await workspace();
    const stranger = notes.as(await service.user(`files-stranger-${++names}`));
    const bad = { 'X-Device-Id': '', 'X-Content-Hash': 'x' };
    const nobody = await putRaw(notes, '=', 'a', { ...bad, Authorization: 'Bearer x' });
    expectFlat(nobody, 401);
    expectFlat(await putRaw(stranger, '=', 'a', bad), 404);
    const early = { ...headersOf(notes, 'a'), ...bad, 'Content-Length': '1000', Connection: 'keep-alive' };
    const socket = openSocket(service.url);
    socket.write(headOf('PUT', notes.file('YQ'), { Host: 'x', ...early })); // no body follows
    const answer = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
    socket.destroy();
    expectFlat(answerOf(answer), 400);
  });

  it('delivers an early refusal to a client that is still sending', async () => {
    const notes = await workspace();
    const answer = await supertest(service.url)
      .put(notes.file('YQ'))
      .set({ ...headersOf(notes, 'a'), Authorization: 'Bearer x' })
      .buffer(true)
      .parse(bytes)
      .send(randomBytes(5 * MIB));
    expect(answer.status).toBe(401);
  });
});
