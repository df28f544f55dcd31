import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import supertest from 'supertest';
import { eventually } from '../../kit/eventually.js';
import { footprint } from '../../kit/footprint.js';
import { bytes, sha256, type TestWorkspace } from '../../kit/index.js';
import { answerOf, headOf, openSocket, type RawAnswer, received, sendRaw } from '../../kit/raw-http.js';
import { KIB, MIB, MAX_FILE_BYTES, expectFlat, useFileRequests } from '../../kit/file-requests.js';

const requests = useFileRequests();
const INLINE_BLOB_BYTES = 64 * KIB;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

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

describe('PUT file', () => {
  it('is 201 for a new path and returns its fields in camelCase', async () => {
    const notes = await requests.workspace();
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
    const notes = await requests.workspace();
    const first = await notes.put('bm90ZQ', 'first').expect(201);
    const second = await notes.put('bm90ZQ', 'second', 'phone').expect(200);
    expect(second.body).toEqual({
      ...first.body,
      contentHash: sha256('second'),
      encryptedSize: 6,
      version: 2,
    });
    expect(await footprint(requests.service, notes.id)).toMatchObject({
      files: 1,
      versions: 2,
      changes: 2,
      blobs: 2,
    });
  });

  it.each([
    ['inline', Buffer.from('same')],
    ['in the store', Buffer.alloc(100_000, 's')],
  ])('changes nothing when the live file has this content already, %s', async (_, content) => {
    const notes = await requests.workspace();
    const first = await notes.put('bm90ZQ', content).expect(201);
    await requests.expectNothingStored(notes, async () => {
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
    const notes = await requests.workspace();
    await notes.put('bm90ZQ', 'a').expect(201);
    await notes.put('bm90ZQ', 'b').expect(200);
    expect((await notes.put('bm90ZQ', 'a').expect(200)).body.version).toBe(3);
  });

  it.each([
    ['the same content', 'first'],
    ['another content', 'second'],
  ])('revives a deleted path with %s: same id, version + 1, 200', async (_, content) => {
    const notes = await requests.workspace();
    const first = await notes.put('bm90ZQ', 'first').expect(201);
    await notes.delete('bm90ZQ').expect(200);
    const revived = await notes.put('bm90ZQ', content).expect(200);
    expect(revived.body).toMatchObject({ id: first.body.id, version: 2, contentHash: sha256(content) });
    expect((await notes.get('bm90ZQ').expect(200)).body).toEqual(Buffer.from(content));
    expect(await notes.status()).toEqual({ cursor: 3, fileCount: 1 });
  });

  it('stores the same content under two paths as two files', async () => {
    const notes = await requests.workspace();
    const one = await notes.put('YQ', 'same').expect(201);
    const two = await notes.put('Yg', 'same').expect(201);
    expect(two.body.id).not.toBe(one.body.id);
  });

  it('compares paths exactly: padding and case make another file', async () => {
    const notes = await requests.workspace();
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
    const notes = await requests.workspace();
    const content = randomBytes(size);
    const declared = await notes.put('ZGVjbGFyZWQ', content).expect(201);
    expect(declared.body).toMatchObject({ encryptedSize: size, contentHash: sha256(content) });
    expect((await footprint(requests.service, notes.id)).onDisk).toHaveLength(filesOnDisk);
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
    const notes = await requests.workspace();
    const content = randomBytes(MAX_FILE_BYTES + 1);
    await requests.expectNothingStored(notes, async () => {
      expectFlat(await notes.put('YQ', content), 413);
      expectFlat(await putChunked(notes, 'YQ', content), 413);
    });
  });

  it('is refused before it is sent when its declared length is too large', async () => {
    const notes = await requests.workspace();
    const headers = {
      ...headersOf(notes, ''),
      'Content-Length': String(MAX_FILE_BYTES + 1),
      Expect: '100-continue',
    };
    expectFlat(await sendRaw(requests.service.url, { method: 'PUT', path: notes.file('YQ'), headers }), 413);
  });

  it('is accepted after 100-continue', async () => {
    const notes = await requests.workspace();
    expect((await putRaw(notes, 'YQ', 'body', { Expect: '100-continue' })).status).toBe(201);
  });

  it.each([
    ['inline', 10],
    ['in the store', 100_000],
    ['above 1 MiB', MIB + 10],
  ])('with another hash is 400 and stores nothing, %s', async (_, size) => {
    const notes = await requests.workspace();
    await notes.put('ZXhpc3Rz', 'exists').expect(201);
    const content = randomBytes(size);
    await requests.expectNothingStored(notes, async () => {
      expectFlat(await notes.put('bmV3', content).set('X-Content-Hash', sha256('other')), 400);
      expectFlat(await notes.put('ZXhpc3Rz', content).set('X-Content-Hash', sha256('exists')), 400);
    });
    expect((await notes.get('ZXhpc3Rz').expect(200)).body).toEqual(Buffer.from('exists'));
  });

  it.each(['gzip', 'br', 'deflate', 'gzip, identity', 'x-anything'])(
    'with Content-Encoding: %s is refused with 415',
    async (encoding) => {
      const notes = await requests.workspace();
      await requests.expectNothingStored(notes, async () => {
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
    const notes = await requests.workspace();
    const isStored = content.length > INLINE_BLOB_BYTES;
    await requests.expectNothingStored(notes, async () => {
      const socket = openSocket(requests.service.url);
      const headers = { Host: 'x', ...headersOf(notes, content), 'Content-Length': String(content.length) };
      socket.write(headOf('PUT', notes.file('YQ'), headers));
      socket.write(content.subarray(0, content.length / 2 + INLINE_BLOB_BYTES));
      if (isStored)
        await eventually(async () => expect((await footprint(requests.service, notes.id)).blobs).toBe(1));
      socket.destroy();
    });
    await notes.put('YQ', content).expect(201); // the path is usable again
  });

  it('gets 400 when it declares more than it sends', async () => {
    const notes = await requests.workspace();
    await requests.expectNothingStored(notes, async () => {
      const socket = openSocket(requests.service.url);
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
    const notes = await requests.workspace();
    await requests.expectNothingStored(notes, async () => {
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
    const notes = await requests.workspace();
    await requests.expectNothingStored(notes, async () => {
      const { status, body } = await putRaw(notes, 'YQ', 'a', headers);
      expect([400, 413]).toContain(status);
      expectFlat({ status, body }, status);
    });
  });

  it('gets 400 for malformed chunks', async () => {
    const notes = await requests.workspace();
    await requests.expectNothingStored(notes, async () => {
      const socket = openSocket(requests.service.url);
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
    ['a hash that is not hex', { 'X-Content-Hash': 'g'.repeat(64) }],
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
    ['an If-Match that is not a list of tags', { 'If-Match': hash }],
    ['an empty If-Match', { 'If-Match': '' }],
    ['an If-Match of * in quotes', { 'If-Match': '"*"' }],
    ['an If-None-Match that is not *', { 'If-None-Match': `"${hash}"` }],
    ['an If-None-Match in quotes', { 'If-None-Match': '"*"' }],
  ])('with %s are 400', async (_, headers) => {
    const notes = await requests.workspace();
    await requests.expectNothingStored(notes, async () =>
      expectFlat(await putRaw(notes, 'YQ', 'a', headers), 400),
    );
  });

  it.each<[string, string]>([
    ['X-Content-Hash', 'none'],
    ['X-Device-Id', 'none'],
  ])('without %s are 400', async (name) => {
    const notes = await requests.workspace();
    const headers = Object.fromEntries(Object.entries(headersOf(notes, 'a')).filter(([key]) => key !== name));
    await requests.expectNothingStored(notes, async () => {
      expectFlat(
        await sendRaw(requests.service.url, { method: 'PUT', path: notes.file('YQ'), headers, body: 'a' }),
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
    const notes = await requests.workspace();
    expect((await putRaw(notes, 'YQ', 'a', { 'X-Device-Id': device })).status).toBe(201);
    expect((await notes.log())[0]!.changedByDevice).toBe(device);
  });

  it('may have any Content-Type or none', async () => {
    const notes = await requests.workspace();
    for (const type of ['application/json', 'text/plain; charset=utf-8', 'multipart/form-data', undefined]) {
      const content = `{"${type}":`;
      const all = Object.entries({ ...headersOf(notes, content), 'Content-Type': type });
      const headers = Object.fromEntries(all.filter(([, value]) => value !== undefined)) as Record<
        string,
        string
      >;
      const answer = await sendRaw(requests.service.url, {
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
      const notes = await requests.workspace();
      expect((await putRaw(notes, 'YQ', 'a', { 'Content-Type': type })).status).toBe(201);
      const got = await notes.get('YQ').expect(200);
      expect(got.headers['content-type']).toBe('application/octet-stream');
    },
  );
});

describe('an encrypted path', () => {
  it('may have 4,096 characters', async () => {
    const notes = await requests.workspace();
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
    const notes = await requests.workspace();
    await requests.expectNothingStored(notes, async () => {
      expectFlat(await putRaw(notes, encPath, 'a'), 400);
      for (const method of ['GET', 'DELETE']) {
        const headers = headersOf(notes, '');
        expectFlat(await sendRaw(requests.service.url, { method, path: notes.file(encPath), headers }), 400);
      }
    });
  });

  it('is 4xx when empty', async () => {
    const notes = await requests.workspace();
    await notes.put('YQ', 'a').expect(201);
    await requests.expectNothingStored(notes, async () => {
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const answer = await sendRaw(requests.service.url, {
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
    const notes = await requests.workspace();
    expect((await putRaw(notes, '%61%3D', 'a')).status).toBe(201);
    expect((await notes.get('a=').expect(200)).body).toEqual(Buffer.from('a'));
    expectFlat(await putRaw(notes, '%2561', 'a'), 400);
  });
});

describe('a conditional upload', () => {
  const tag = (content: string): string => `"${sha256(content)}"`;
  const other = tag('something else');

  it('replaces only the head that If-Match names', async () => {
    const notes = await requests.workspace();
    await notes.put('YQ', 'one').expect(201);
    await notes.put('YQ', 'two').set('If-Match', tag('one')).expect(200);
    await requests.expectNothingStored(notes, async () => {
      expectFlat(await notes.put('YQ', 'three').set('If-Match', tag('one')), 412);
      expectFlat(await notes.put('YQ', Buffer.alloc(100_000)).set('If-Match', tag('one')), 412);
    });
    expect((await notes.get('YQ').expect(200)).body).toEqual(Buffer.from('two'));
  });

  it('accepts a list in If-Match, and * for any head', async () => {
    const notes = await requests.workspace();
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
    const notes = await requests.workspace();
    await notes.put('Z29uZQ', 'gone').expect(201);
    await notes.delete('Z29uZQ').expect(200);
    await requests.expectNothingStored(notes, async () => {
      for (const condition of ['*', tag('gone'), other]) {
        await notes.put('Z29uZQ', 'new').set('If-Match', condition).expect(412);
        await notes.put('bmV2ZXI', 'new').set('If-Match', condition).expect(412);
      }
    });
  });

  it('never replaces a file with a weak If-Match', async () => {
    const notes = await requests.workspace();
    await notes.put('YQ', 'one').expect(201);
    await requests.expectNothingStored(notes, async () => {
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
    const notes = await requests.workspace();
    await notes.put('YQ', 'one').set('If-None-Match', '*').expect(201);
    await requests.expectNothingStored(notes, async () => {
      expectFlat(await notes.put('YQ', 'two').set('If-None-Match', '*'), 412);
    });
    await notes.delete('YQ').expect(200);
    const revived = await notes.put('YQ', 'three').set('If-None-Match', '*').expect(200);
    expect(revived.body.version).toBe(2);
  });

  it('is 200 when it repeats an upload that succeeded', async () => {
    const notes = await requests.workspace();
    const created = await notes.put('YQ', 'one').set('If-None-Match', '*').expect(201);
    const again = await notes.put('YQ', 'one').set('If-None-Match', '*').expect(200);
    expect(again.body).toEqual(created.body);

    const updated = await notes.put('YQ', 'two').set('If-Match', tag('one')).expect(200);
    const repeated = await notes.put('YQ', 'two').set('If-Match', tag('one')).expect(200);
    expect(repeated.body).toEqual(updated.body);
    expect(await notes.status()).toEqual({ cursor: 2, fileCount: 1 });
  });
});

describe('the order of checks', () => {
  it('is the caller, then path and headers, then the body', async () => {
    const notes = await requests.workspace();
    const stranger = notes.as(await requests.service.user(`files-stranger-${++requests.names}`));
    const bad = { 'X-Device-Id': '', 'X-Content-Hash': 'x' };
    const nobody = await putRaw(notes, '=', 'a', { ...bad, Authorization: 'Bearer x' });
    expectFlat(nobody, 401);
    expectFlat(await putRaw(stranger, '=', 'a', bad), 404);
    const early = { ...headersOf(notes, 'a'), ...bad, 'Content-Length': '1000', Connection: 'keep-alive' };
    const socket = openSocket(requests.service.url);
    socket.write(headOf('PUT', notes.file('YQ'), { Host: 'x', ...early })); // no body follows
    const answer = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
    socket.destroy();
    expectFlat(answerOf(answer), 400);
  });

  it('delivers an early refusal to a client that is still sending', async () => {
    const notes = await requests.workspace();
    const answer = await supertest(requests.service.url)
      .put(notes.file('YQ'))
      .set({ ...headersOf(notes, 'a'), Authorization: 'Bearer x' })
      .buffer(true)
      .parse(bytes)
      .send(randomBytes(5 * MIB));
    expect(answer.status).toBe(401);
  });
});
