import { randomBytes } from 'node:crypto';
import type { BatchUploaded } from '../../../src/domain/files/batches/batch-upload.js';
import { cborSequence, downloadBatch, downloaded, itemsIn, upload, uploadBatch } from '../../kit/batches.js';
import { sha256, startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { itDeep } from '../../kit/rounds.js';

const MIB = 1024 * 1024;

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

let names = 0;
async function workspace(): Promise<TestWorkspace> {
  return (await service.user(`batches-${++names}`)).workspace();
}

const pathOf = (i: number): string => `note${i}`;
const many = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe('POST /files/batch-upload', () => {
  it('stores each item as a PUT does, in order', async () => {
    const notes = await workspace();
    await notes.put('old', 'before').expect(201);
    const items = [
      upload('new', 'one'),
      upload('old', 'after'),
      upload('empty', ''),
      upload('large', randomBytes(MIB)),
    ];

    const { body } = await uploadBatch(notes, items).expect(200);

    expect(body.cursor).toBe(5);
    expect(body.results).toEqual([
      { encryptedPath: 'new', status: 201, id: expect.any(String), version: 1, contentHash: sha256('one') },
      { encryptedPath: 'old', status: 200, id: expect.any(String), version: 2, contentHash: sha256('after') },
      { encryptedPath: 'empty', status: 201, id: expect.any(String), version: 1, contentHash: sha256('') },
      expect.objectContaining({ encryptedPath: 'large', status: 201, version: 1 }),
    ]);
    const log = await notes.log();
    expect(log.map(({ encryptedPath, changedByDevice }) => [encryptedPath, changedByDevice])).toEqual([
      ['old', 'laptop'],
      ['new', 'laptop'],
      ['old', 'laptop'],
      ['empty', 'laptop'],
      ['large', 'laptop'],
    ]);
    const received = await downloaded(notes, ['new', 'old', 'empty', 'large']);
    expect(received.map(({ content }) => sha256(Buffer.from(content ?? [])))).toEqual(
      items.map(({ contentHash }) => contentHash),
    );
  });

  it('changes nothing when it is repeated', async () => {
    const notes = await workspace();
    const items = many(200).map((i) => upload(pathOf(i), `content ${i}`));
    const first: BatchUploaded = (await uploadBatch(notes, items).expect(200)).body;
    const second: BatchUploaded = (await uploadBatch(notes, items).expect(200)).body;
    expect(first.cursor).toBe(200);
    expect(second.cursor).toBe(200);
    expect(second.results).toEqual(first.results.map((one) => ({ ...one, status: 200 })));
    expect(await notes.status()).toEqual({ cursor: 200, fileCount: 200 });
  });

  it.each(['if_match', 'ifmatch', 'If-Match', 'id', 'workspaceId', 'version', '__proto__'])(
    'refuses an item with an unknown member, and no other item: %s',
    async (member) => {
      const notes = await workspace();
      await notes.put('kept', 'kept').expect(201);
      // Without the misspelt condition, the upload would overwrite the file.
      const misspelt = upload('kept', 'new', Object.fromEntries([[member, sha256('other')]]));
      const { body } = await uploadBatch(notes, [misspelt, upload('good', 'good')]).expect(200);
      expect(body.results).toEqual([
        expect.objectContaining({ encryptedPath: 'kept', status: 400, error: `unknown member "${member}"` }),
        expect.objectContaining({ encryptedPath: 'good', status: 201 }),
      ]);
      const [kept] = await downloaded(notes, ['kept']);
      expect(Buffer.from(kept?.content ?? []).toString()).toBe('kept');
    },
  );

  it('refuses invalid items individually, and stores the others', async () => {
    const notes = await workspace();
    await notes.put('kept', 'kept').expect(201);
    const answer = await uploadBatch(notes, [
      upload('good', 'good'),
      upload('not/base64', 'x'),
      upload('wrong', 'x', { contentHash: sha256('y') }),
      upload('short', 'x', { contentHash: 'abc' }),
      upload('text', 'x', { content: 'x' }),
      upload('kept', 'new', { ifNoneMatch: '*' }),
      upload('kept2', 'new', { ifMatch: sha256('kept') }),
      upload('good', 'again'),
      upload('tags', 'x', { ifMatch: 'abc' }),
      upload('tags2', 'x', { ifNoneMatch: sha256('x') }),
      { contentHash: sha256('x'), content: Buffer.from('x') },
      upload('last', 'last', { ifNoneMatch: '*' }),
    ]).expect(200);
    const { results }: BatchUploaded = answer.body;
    expect(results.map(({ encryptedPath, status }) => [encryptedPath, status])).toEqual([
      ['good', 201],
      [null, 400],
      ['wrong', 400],
      ['short', 400],
      ['text', 400],
      ['kept', 412],
      ['kept2', 412],
      ['good', 409],
      ['tags', 400],
      ['tags2', 400],
      [null, 400],
      ['last', 201],
    ]);
    for (const { status, error } of results) expect(typeof error).toBe(status < 300 ? 'undefined' : 'string');
    expect((await notes.list()).map((file) => file.encrypted_path).toSorted()).toEqual([
      'good',
      'kept',
      'last',
    ]);
  });

  it.each([
    ['an empty body', Buffer.alloc(0)],
    ['text', Buffer.from('not cbor')],
    ['an array', cborSequence([['a']])],
    ['a nested value', cborSequence([{ encryptedPath: ['a'] }])],
    ['a tag', Buffer.from('a16161c001', 'hex')],
    ['a truncated item', cborSequence([upload('a', 'a')]).subarray(0, -1)],
    ['a key twice', Buffer.from('a2616101616102', 'hex')],
    ['a number as a key', Buffer.from('a10101', 'hex')],
    ['too many keys', cborSequence([Object.fromEntries(many(20).map((i) => [`k${i}`, i]))])],
    ['a reserved byte', Buffer.from('a161611c', 'hex')],
    ['an indefinite length', Buffer.from('bf6161f6ff', 'hex')],
  ])('answers 400 to %s', async (_, body) => {
    const notes = await workspace();
    const answer = await uploadBatch(notes, body).expect(400);
    expect(answer.body).toEqual({ error: expect.any(String) });
    expect(await notes.status()).toEqual({ cursor: 0, fileCount: 0 });
  });

  itDeep('answers 413 beyond 1 MiB an item, 1,000 items or 32 MiB, and stores no surplus', async () => {
    const notes = await workspace();
    const tooLarge = [upload('a', randomBytes(MIB + 1))];
    const tooMany = many(1001).map((i) => upload(pathOf(i), `${i}`));
    const tooMuch = many(33).map((i) => upload(pathOf(i), Buffer.alloc(MIB, i)));
    await uploadBatch(notes, tooLarge).expect(413);
    expect(await notes.status()).toEqual({ cursor: 0, fileCount: 0 });
    await uploadBatch(notes, tooMany).expect(413);
    expect((await notes.status()).fileCount).toBeLessThanOrEqual(1000);
    const other = await workspace();
    await uploadBatch(other, tooMuch).expect(413);
    expect((await other.status()).fileCount).toBeLessThanOrEqual(32);
  });
});

describe('POST /files/batch-download', () => {
  it('returns an item for each requested one, in order', async () => {
    const notes = await workspace();
    await notes.put('a', 'one').expect(201);
    await notes.put('a', 'two').expect(200);
    await notes.put('b', 'bee').expect(201);
    await notes.put('gone', 'gone').expect(201);
    await notes.delete('gone').expect(200);
    await notes.put('empty', '').expect(201);
    await notes.put('huge', randomBytes(MIB + 1)).expect(201);
    const asked = [
      { encryptedPath: 'missing' },
      { encryptedPath: 'a', contentHash: sha256('one') },
      { encryptedPath: 'b', contentHash: sha256('bee').toUpperCase() },
      { encryptedPath: 'gone', contentHash: null },
      { encryptedPath: 'huge' },
      { encryptedPath: 'empty' },
      { encryptedPath: 'b' },
    ];
    const answer = await downloadBatch(notes, asked).expect(200);
    expect(answer.headers['content-type']).toBe('application/cbor-seq');
    const none = { version: null, contentHash: null, encryptedSize: null };
    const b = { encryptedPath: 'b', version: 1, contentHash: sha256('bee'), encryptedSize: 3 };
    expect(itemsIn(answer.body as Buffer)).toEqual([
      { encryptedPath: 'missing', status: 404, ...none },
      {
        encryptedPath: 'a',
        status: 200,
        version: 2,
        contentHash: sha256('two'),
        encryptedSize: 3,
        content: bytesOf('two'),
      },
      { ...b, status: 304 },
      { encryptedPath: 'gone', status: 404, ...none },
      {
        encryptedPath: 'huge',
        status: 200,
        version: 1,
        contentHash: expect.any(String),
        encryptedSize: MIB + 1,
      },
      {
        encryptedPath: 'empty',
        status: 200,
        version: 1,
        contentHash: sha256(''),
        encryptedSize: 0,
        content: bytesOf(''),
      },
      { ...b, status: 200, content: bytesOf('bee') },
    ]);
  });

  itDeep('omits contents beyond 32 MiB', async () => {
    const notes = await workspace();
    const items = many(34).map((i) => upload(pathOf(i), Buffer.alloc(MIB, i)));
    await uploadBatch(notes, items.slice(0, 30)).expect(200);
    await uploadBatch(notes, [...items.slice(30), upload('small', 'small')]).expect(200);
    const received = await downloaded(notes, [...many(34).map(pathOf), 'small']);
    expect(received.map(({ content }) => content?.length ?? null)).toEqual([
      ...many(32).map(() => MIB),
      null,
      null,
      null,
    ]);
    expect(received.every(({ status }) => status === 200)).toBe(true);
  });

  it.each([
    ['no items', []],
    ['too many items', many(1001).map((i) => ({ encryptedPath: pathOf(i) }))],
    ['an invalid path', [{ encryptedPath: 'a/b' }]],
    ['an invalid hash', [{ encryptedPath: 'a', contentHash: 'abc' }]],
    ['null', [null]],
  ])('answers 400 to %s', async (_, items) => {
    const notes = await workspace();
    await downloadBatch(notes, items as { encryptedPath: string }[]).expect(400);
  });
});

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));
