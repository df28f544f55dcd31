import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import pg from 'pg';
import type supertest from 'supertest';
import { GrowingBytes } from '../../../src/domain/automation/note-answer.js';
import { NoteBodies } from '../../../src/domain/automation/note-bodies.js';
import { Notes } from '../../../src/domain/automation/notes.service.js';
import { WipeableKeys } from '../../../src/domain/automation/wipeable-keys.js';
import { decryptContent, decryptLabel, decryptPath, encryptLabel } from '../../../crypto/src/index.js';
import { BadRequest } from '../../../src/platform/http/index.js';
import { GroupCommitQueue } from '../../../src/domain/files/group-commit-queue.js';
import { type NoteAnswer, TestVault } from '../../kit/automation.js';
import { eventually, sha256, startService, TestSocket, type TestService } from '../../kit/index.js';
import { expectReplayLaw } from '../../kit/oracles.js';
import { sendRaw } from '../../kit/raw-http.js';

let service: TestService;
let vault: TestVault;
beforeAll(async () => {
  service = await startService({ env: { MAX_FILE_BYTES: '2000000' } });
});
afterAll(() => service.close());

beforeEach(async () => {
  vault = await TestVault.setUp(await (await service.user('alice')).workspace());
});

/** For requests that an ordinary client would not send. */
const headers = (): Record<string, string> => ({
  Authorization: `Bearer ${vault.workspace.user.token}`,
  'X-Key-Session': vault.keySession,
  'Content-Type': 'application/json',
});

const sendText = (body: string): supertest.Test =>
  vault.request('post', '/notes').set('Content-Type', 'application/json').send(body);

/** Sends each request once the one before waits to write, so that they write in this order. */
async function allAtTheLock(...requests: supertest.Test[]): Promise<supertest.Response[]> {
  const holder = new pg.Client(service.database.url);
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT FROM workspaces WHERE id = $1 FOR NO KEY UPDATE', [vault.workspace.id]);
  const answers: Promise<supertest.Response>[] = [];
  for (const request of requests) {
    answers.push(request.then((answer) => answer));
    await eventually(async () => {
      const [atTheLock] = await service.database.query<{ count: number }>(
        `SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      expect((atTheLock?.count ?? 0) + service.app.get(GroupCommitQueue).waiting).toBeGreaterThanOrEqual(
        answers.length,
      );
    });
  }
  await holder.query('COMMIT');
  await holder.end();
  return Promise.all(answers);
}

const statusesOf = (answers: supertest.Response[]): number[] => answers.map(({ status }) => status);
const ascending = (numbers: number[]): number[] => numbers.toSorted((a, b) => a - b);

const expectError = async (request: supertest.Test, status: number, error?: RegExp): Promise<void> => {
  const { body } = await request.expect(status);
  expect(body).toEqual({ error: expect.stringMatching(error ?? /./) });
};

describe('GET metadata', () => {
  it('returns the parameters of key derivation without a key session', async () => {
    const { body } = await vault.workspace.user.get(`${vault.path}/metadata`).expect(200);
    const { encryption_salt } = (await vault.workspace.user.get(vault.workspace.path)).body;
    expect(body).toEqual({
      workspaceId: vault.workspace.id,
      name: 'notes',
      encryptionSalt: encryption_salt,
      verificationSalt: expect.stringMatching(/^[0-9a-f]{64}$/),
      kdf: { name: 'PBKDF2-HMAC-SHA256', iterations: 600_000, passwordEncoding: 'UTF-8 NFKC', keyBytes: 32 },
    });
  });

  it('returns no salts before the encryption is set up', async () => {
    const bare = await vault.workspace.user.workspace('bare');
    const { body } = await bare.user.get(`/api/v1/automation/workspaces/${bare.id}/metadata`).expect(200);
    expect(body).toMatchObject({ name: 'bare', encryptionSalt: null, verificationSalt: null });
  });
});

describe('POST notes', () => {
  it('creates a note that any client can read, and answers like the file routes', async () => {
    const { body, headers } = await vault.create('journal/2026 – Ü.md', 'Grüße\n').expect(201);
    const encryptedPath = vault.encryptedPath('journal/2026 – Ü.md');
    const file = await vault.workspace.get(encryptedPath).expect(200);
    expect(Buffer.from(await decryptContent(vault.keys, encryptedPath, file.body)).toString()).toBe(
      'Grüße\n',
    );

    const [listed] = (await vault.workspace.user.get(`${vault.workspace.path}/files`)).body.files;
    expect(decryptPath(vault.keys, listed.encrypted_path)).toBe('journal/2026 – Ü.md');
    expect(body).toEqual({
      path: 'journal/2026 – Ü.md',
      version: 1,
      contentHash: sha256(file.body),
      updatedAt: listed.updated_at,
    });
    expect(headers.etag).toBe(`"${body.contentHash}"`);
  });

  it('is 409 for a live note, which stays as it is, and 201 for a deleted one', async () => {
    await vault.create('a.md', 'first').expect(201);
    await expectError(vault.create('a.md', 'second'), 409, /^the note already exists$/);
    await expectError(vault.create('a.md', 'first'), 409);
    expect((await vault.read('a.md')).body).toMatchObject({ content: 'first', version: 1 });
    await vault.remove('a.md').expect(200);
    expect((await vault.create('a.md', 'second').expect(201)).body.version).toBe(2);
  });

  it('lets one of several concurrent creations win', async () => {
    const makers = Array.from({ length: 4 }, (_, i) => vault.create('race.md', `by ${i}`));
    expect(ascending(statusesOf(await allAtTheLock(...makers)))).toEqual([201, 409, 409, 409]);
    expect((await vault.workspace.versions(vault.encryptedPath('race.md'))).length).toBe(1);
  });

  const INCOMPLETE = [
    { content: 'x' },
    { path: 7, content: 'x' },
    { path: 'a.md' },
    { path: 'a.md', content: null },
    { path: 'a.md', content: ['x'] },
    { path: 'a.md', more: { content: 'x' } },
  ];

  it('is 400 unless path and content are strings', async () => {
    for (const body of INCOMPLETE) await expectError(vault.request('post', '/notes').send(body), 400);
  });

  const NOT_JSON = [
    '{"path":"a.md","content":"x"',
    '{"path":"a.md","content":"x}',
    '{"path":"a.md","content":"x"}}',
    '["content","x"]',
    '{"path":"a.md","content":"a\nb"}',
    '{"path":"a.md","content":"\\x41"}',
    '{"path":"a.md","content":"\\u12g4"}',
    '{"path":"a.md","content":"\\ud800"}',
    '{"path":"a.md","content":"\\ud800x"}',
    '{"path":"a.md","content":"\\udc00\\ud800"}',
    '{"path":"a.md","content":"x","content":"y"}',
    '{"__proto__":{"path":"a.md"},"path":"a.md","content":"x"}',
  ];

  it('is 400 for malformed JSON, malformed Unicode and duplicate members', async () => {
    for (const body of NOT_JSON) await expectError(sendText(body), 400);
  });

  it('is 400 for content that is not UTF-8', async () => {
    const body = Buffer.from('{"path":"a.md","content":"\xff"}', 'latin1');
    const path = `${vault.path}/notes`;
    const { status } = await sendRaw(service.url, { method: 'POST', path, headers: headers(), body });
    expect(status).toBe(400);
  });

  it('accepts any valid JSON notation', async () => {
    for (const body of [
      '{"content":"x","path":"1.md"}',
      ' { "path" : "2.md" , "other" : [ { "content" : "y" } ] , "content" : "x" } ',
      '{"p\\u0061th":"3.md","c\\u006fntent":"\\u0078"}',
    ]) {
      const { path } = (await sendText(body).expect(201)).body;
      expect((await vault.read(path)).body.content).toBe('x');
    }
  });

  it('keeps every character', async () => {
    const content = '\uFEFF\r\n\t"\\/\u0000\u001f\u2028 e\u0301 é 🚀 \ufffd \u{10ffff}</script>';
    await vault.create('odd.md', content).expect(201);
    expect((await vault.read('odd.md')).body.content).toBe(content);
    expect((await vault.read('odd.md')).text).toBe(
      JSON.stringify({ ...(await vault.read('odd.md')).body, content }),
    );
  });
});

describe('a path', () => {
  const GOOD = [
    'a b.md',
    'ä/ö/ü – “x” (1).md',
    '日本語/メモ 🚀.md',
    '100%.md',
    '%2F.md',
    'a?b#c&d=e+f;g.md',
    'back\\slash.md',
    '…/. /.hidden/x..',
    'x'.repeat(1024),
  ];

  it('may contain spaces, all letters, and characters with a meaning in URLs', async () => {
    for (const path of GOOD) {
      await vault.create(path, path).expect(201);
      expect((await vault.read(path).expect(200)).body).toMatchObject({ path, content: path });
      expect((await vault.update(path, 'changed').expect(200)).body.path).toBe(path);
      expect((await vault.history(path).expect(200)).body.versions.length).toBe(2);
    }
    expect((await vault.list()).map((note) => note.path)).toEqual(GOOD);
    for (const path of GOOD) await vault.remove(path).expect(200);
    expect(await vault.list()).toEqual([]);
  });

  it('is the same path in every Unicode form', async () => {
    const { body } = await vault.create('e\u0301.md', 'x').expect(201);
    expect(body.path).toBe('\u00e9.md');
    expect((await vault.read('e\u0301.md').expect(200)).body.path).toBe('\u00e9.md');
    await vault.create('\u00e9.md', 'y').expect(409);
  });

  const BAD = [
    '',
    '/a',
    'a/',
    'a//b',
    '.',
    '..',
    'a/../b',
    'a/./b',
    'a\nb',
    'a\u0000',
    '\u0085',
    'x'.repeat(1025),
  ];

  it('is 400 in a body when it cannot name a note', async () => {
    for (const path of [...BAD, 'ü'.repeat(513), 'a/..', '\ud800'])
      await expectError(vault.create(path, 'x'), 400);
  });

  const ROUTES = [
    { method: 'GET', route: 'notes', body: '' },
    { method: 'PUT', route: 'notes', body: '{"content":"x"}' },
    { method: 'DELETE', route: 'notes', body: '' },
    { method: 'GET', route: 'history', body: '' },
    { method: 'POST', route: 'restore', body: '{"versionId":"x"}' },
  ];

  const SPELLINGS = ['%2e%2e', '.%2e', 'a%2f..%2fb', '%2fa', 'a%2f', 'a%00b', '%c2%85', '%ff', '%zz'];

  it('is 400 in a URL, on every route and in every spelling', async () => {
    const encoded = BAD.map((path) => path.split('/').map(encodeURIComponent).join('/'));
    for (const spelling of [...encoded, ...SPELLINGS]) {
      for (const { method, route, body } of ROUTES) {
        const path = `${vault.path}/${route}/${spelling}`;
        const answer = await sendRaw(service.url, { method, path, headers: headers(), body });
        expect({ method, spelling, status: answer.status }).toEqual({ method, spelling, status: 400 });
      }
    }
  });
});

describe('PUT notes/*path', () => {
  it('replaces a note, and is 404 for one that is not there', async () => {
    await expectError(vault.update('a.md', 'x'), 404);
    await vault.create('a.md', 'first').expect(201);
    const { body, headers } = await vault.update('a.md', 'second').expect(200);
    expect(body).toMatchObject({ path: 'a.md', version: 2 });
    expect(headers.etag).toBe(`"${body.contentHash}"`);
    expect((await vault.read('a.md')).body).toEqual({ ...body, content: 'second' });
    await vault.remove('a.md').expect(200);
    await expectError(vault.update('a.md', 'third'), 404);
    await expectError(vault.update('a.md', 'third').set('If-Match', '*'), 404);
  });

  it('changes nothing for the same text: no version, no change, the same answer', async () => {
    const { body } = await vault.create('a.md', 'text').expect(201);
    const { cursor } = await vault.workspace.status();
    expect((await vault.update('a.md', 'text').expect(200)).body).toEqual(body);
    expect(
      (await vault.update('a.md', 'text').set('If-Match', `"${body.contentHash}"`).expect(200)).body,
    ).toEqual(body);
    expect((await vault.workspace.status()).cursor).toBe(cursor);
    expect((await vault.update('a.md', 'texT').expect(200)).body.version).toBe(2);
  });

  it('compares a large text to its end', async () => {
    const text = 'x'.repeat(1_500_000);
    const { body } = await vault.create('large.md', text).expect(201);
    expect((await vault.update('large.md', text).expect(200)).body).toEqual(body);
    for (const [index, other] of [`${text.slice(0, -1)}y`, `y${text.slice(1)}`, text].entries())
      expect((await vault.update('large.md', other).expect(200)).body.version).toBe(index + 2);
    expect((await vault.read('large.md')).body.content === text).toBe(true);
  });

  it('replaces only the version that If-Match names', async () => {
    const { body: first } = await vault.create('a.md', '1').expect(201);
    const match = (hash: string): supertest.Test => vault.update('a.md', '2').set('If-Match', hash);
    await expectError(match(`"${'0'.repeat(64)}"`), 412);
    await expectError(match(`W/"${first.contentHash}"`), 412);
    await expectError(match(first.contentHash), 400);
    await match(`"x", "${first.contentHash}"`).expect(200);
    await expectError(match(`"${first.contentHash}"`), 412); // even for unchanged text
    await vault.update('a.md', '3').set('If-Match', '*').expect(200);
    expect((await vault.read('a.md')).body).toMatchObject({ content: '3', version: 3 });
  });

  it('is 412 for an If-Match that names no version, also in concurrent requests', async () => {
    const paths = Array.from({ length: 8 }, (_, n) => `${n}.md`);
    for (const path of paths) await vault.create(path, 'text').expect(201);
    const answers = await Promise.all(
      paths.map((path) =>
        vault
          .update(path, 'other')
          .set('If-Match', '"x,*"')
          .ok(() => true),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 412));
  });

  it('lets one of many writers with the same If-Match win, and all without one', async () => {
    const { body } = await vault.create('a.md', 'start').expect(201);
    const matched = Array.from({ length: 4 }, (_, i) =>
      vault.update('a.md', `${i}`).set('If-Match', `"${body.contentHash}"`),
    );
    expect(ascending(statusesOf(await allAtTheLock(...matched)))).toEqual([200, 412, 412, 412]);
    const free = await allAtTheLock(
      ...Array.from({ length: 4 }, (_, i) => vault.update('a.md', `free ${i}`)),
    );
    expect(ascending(free.map((answer) => answer.body.version))).toEqual([3, 4, 5, 6]);
  });

  it('never revives a note that is being deleted', async () => {
    await vault.create('a.md', 'text').expect(201);
    expect(statusesOf(await allAtTheLock(vault.remove('a.md'), vault.update('a.md', 'late')))).toEqual([
      200, 404,
    ]);
    expect(await vault.list()).toEqual([]);
    await vault.create('a.md', 'text').expect(201);
    expect(statusesOf(await allAtTheLock(vault.update('a.md', 'early'), vault.remove('a.md')))).toEqual([
      200, 200,
    ]);
    expect(await vault.list()).toEqual([]);
  });
});

describe('DELETE notes/*path', () => {
  it('deletes like the file route: a tombstone in the log, the history kept', async () => {
    await vault.create('a.md', 'x').expect(201);
    expect((await vault.remove('a.md').expect(200)).body).toEqual({ ok: true });
    await expectError(vault.remove('a.md'), 404);
    await expectError(vault.read('a.md'), 404);
    expect((await vault.workspace.log()).map(({ action }) => action)).toEqual(['upsert', 'delete']);
    expect((await vault.history('a.md').expect(200)).body.versions.length).toBe(1);
  });
});

describe('a write of the Automation API', () => {
  it('adds one version and one entry to the common log, which still replays', async () => {
    await vault.create('a.md', '1').expect(201);
    expect((await vault.upload('a.md', '2')).status).toBe(200);
    await vault.update('a.md', '3').expect(200);
    expect((await vault.upload('b.md', '1')).status).toBe(201);
    await vault.remove('b.md').expect(200);
    const versions = await vault.workspace.versions(vault.encryptedPath('a.md'));
    expect(versions.map(({ version, device_id }) => [version, device_id])).toEqual([
      [3, 'automation'],
      [2, 'laptop'],
      [1, 'automation'],
    ]);
    expect((await vault.workspace.status()).cursor).toBe(5);
    await expectReplayLaw(vault.workspace);
  });

  it('is recorded under the device X-Device-Id, by default "automation"', async () => {
    const from = (request: supertest.Test): supertest.Test => request.set('X-Device-Id', 'robot-1');
    const { body } = await from(vault.create('a.md', '1')).expect(201);
    await from(vault.update('a.md', '2')).expect(200);
    const [, first] = (await vault.history('a.md')).body.versions;
    await from(vault.restore('a.md', first.versionId)).expect(200);
    await from(vault.remove('a.md')).expect(200);
    expect(first.contentHash).toBe(body.contentHash);
    const log = await vault.workspace.log();
    expect(log.map(({ changedByDevice }) => changedByDevice)).toEqual(Array(4).fill('robot-1'));
    for (const request of [vault.create('b.md', ''), vault.update('a.md', ''), vault.remove('a.md')])
      await expectError(request.set('X-Device-Id', 'two words'), 400);
  });

  it('is announced once to the other devices, and not to the one that wrote', async () => {
    const laptop = await TestSocket.join(vault.workspace, 'laptop');
    const robot = await TestSocket.join(vault.workspace, 'automation');
    await vault.create('a.md', '1').expect(201);
    await vault.update('a.md', '2').expect(200);
    await vault.update('a.md', '2').expect(200); // the same again
    await vault.remove('a.md').expect(200);
    const told = async (): Promise<unknown[]> => {
      await laptop.settled();
      return laptop.of('changes').flatMap(({ changes }) => changes as { action: string; version: number }[]);
    };
    while ((await told()).length < 3);
    expect(await told()).toEqual([
      expect.objectContaining({ action: 'upsert', version: 1 }),
      expect.objectContaining({ action: 'upsert', version: 2 }),
      expect.objectContaining({ action: 'delete', version: 2 }),
    ]);
    await robot.settled();
    expect(robot.of('changes')).toEqual([]);
    await Promise.all([laptop.close(), robot.close()]);
  });
});

describe('GET notes', () => {
  it('lists the live notes with plaintext sizes, in pages', async () => {
    const answers: NoteAnswer[] = [];
    for (const name of ['c', 'a', 'b']) answers.push((await vault.create(`${name}.md`, `${name}ü`)).body);
    await vault.create('gone.md', 'x');
    await vault.remove('gone.md');
    const notes = answers.map((note) => ({ ...note, size: 3 }));
    const { body } = await vault.request('get', '/notes').expect(200);
    expect(body).toEqual({ notes, nextPageCursor: null, hasMore: false });

    const first = (await vault.request('get', '/notes').query({ limit: 2 }).expect(200)).body;
    expect(first).toMatchObject({ notes: notes.slice(0, 2), hasMore: true });
    const { nextPageCursor: pageCursor } = first;
    const second = (await vault.request('get', '/notes').query({ limit: 2, pageCursor }).expect(200)).body;
    expect(second).toEqual({ notes: notes.slice(2), nextPageCursor: null, hasMore: false });
    expect((await vault.list({ limit: 3 })).length).toBe(3);
  });

  it('lists the notes whose paths begin with a prefix, folders or not, and fills the pages', async () => {
    const paths = Array.from({ length: 30 }, (_, i) => (i % 3 === 0 ? `é/${i}.md` : `other/${i}.md`));
    await vault.fill(
      service,
      paths.map((path) => ({ path, content: '' })),
    );
    const wanted = paths.filter((path) => path.startsWith('é/'));
    const pathsOf = (notes: { path: string | null }[]): (string | null)[] =>
      notes.map(({ path }) => path).sort();
    expect(pathsOf(await vault.list({ prefix: 'e\u0301/' }))).toEqual(wanted.sort());
    expect(pathsOf(await vault.list({ prefix: 'é/', limit: 4 }))).toEqual(wanted.sort());
    const page = (await vault.request('get', '/notes').query({ prefix: 'é/', limit: 4 })).body;
    expect(page.notes.length).toBe(4);
    expect(await vault.list({ prefix: 'É' })).toEqual([]);
  });

  it('is 400 for a malformed page cursor, and lenient with the limit', async () => {
    for (const query of ['pageCursor=x', 'prefix=a&prefix=b'])
      await expectError(vault.request('get', `/notes?${query}`), 400);
    for (const limit of ['', 'x', '0', '-1', '1.9', '1e9']) {
      await vault.request('get', `/notes?limit=${limit}`).expect(200);
    }
  });
});

describe('files that this key cannot decrypt', () => {
  beforeEach(async () => {
    const other = await TestVault.setUp(await vault.workspace.user.workspace('another key'));
    await vault.create('mine.md', 'mine').expect(201);
    await vault.workspace.put(other.encryptedPath('theirs.md'), 'not even an envelope').expect(201);
    await vault.workspace.put('YQ==', randomBytes(100)).expect(201);
    const sealed = vault.encryptedPath('wrong content.md');
    await vault.workspace.put(sealed, randomBytes(90)).expect(201);
    await vault.workspace.put(vault.encryptedPath('empty.md'), '').expect(201);
  });

  it('are listed as unreadable and do not break search', async () => {
    expect((await vault.list()).map(({ path, size, version }) => [path, size, version])).toEqual([
      ['mine.md', 4, 1],
      [null, 0, 1],
      [null, 39, 1],
      ['wrong content.md', 29, 1],
      ['empty.md', 0, 1],
    ]);
    expect((await vault.list({ prefix: 'm' })).map(({ path }) => path)).toEqual(['mine.md']);
    expect(await vault.found('mine')).toEqual(['mine.md']);
    expect(await vault.found('wrong')).toEqual(['wrong content.md']);
  });

  it('are 409 when they are read, and can be replaced and deleted', async () => {
    await expectError(vault.read('wrong content.md'), 409, /cannot be decrypted/);
    await expectError(vault.read('empty.md'), 409, /cannot be decrypted/);
    const { versions } = (await vault.history('wrong content.md').expect(200)).body;
    await expectError(vault.history('wrong content.md').query({ version: versions[0].versionId }), 409);
    await vault.update('wrong content.md', 'x'.repeat(29)).expect(200);
    expect((await vault.read('wrong content.md')).body.content).toBe('x'.repeat(29));
    await vault.remove('empty.md').expect(200);
  });

  it('are 409 when they are not text', async () => {
    const picture = Buffer.of(0x89, 0x50, 0xff, 0x00);
    expect((await vault.upload('picture.png', picture)).status).toBe(201);
    await expectError(vault.read('picture.png'), 409, /is not text/);
    expect(await vault.found('picture')).toEqual(['picture.png']);
  });

  it('do not open at another path, so that two notes cannot be swapped', async () => {
    await vault.create('a.md', 'of a').expect(201);
    const envelope = (await vault.workspace.get(vault.encryptedPath('a.md'))).body;
    await vault.workspace.put(vault.encryptedPath('b.md'), envelope).expect(201);
    await expectError(vault.read('b.md'), 409);
  });
});

describe('GET history and POST restore', () => {
  it('lists versions, newest first, with their plaintext on demand', async () => {
    await vault.create('a.md', 'one').expect(201);
    expect((await vault.upload('a.md', 'two!')).status).toBe(200);
    const { body } = await vault.history('a.md').expect(200);
    const rows = await vault.workspace.versions(vault.encryptedPath('a.md'));
    expect(body).toEqual({
      versions: rows.map((row) => ({
        versionId: row.id,
        version: row.version,
        size: row.encrypted_size - 61,
        contentHash: row.content_hash,
        deviceId: row.device_id,
        createdAt: row.created_at,
        changeCursor: row.changeCursor,
      })),
    });
    const [second, first] = body.versions;
    expect([second.size, first.size]).toEqual([4, 3]);
    const old = await vault.history('a.md').query({ version: first.versionId }).expect(200);
    expect(old.body).toEqual({
      path: 'a.md',
      content: 'one',
      version: 1,
      contentHash: first.contentHash,
      createdAt: first.createdAt,
    });
  });

  it('is 404 for an unknown path, an unknown version and a version of another note', async () => {
    await vault.create('a.md', 'a').expect(201);
    await vault.create('b.md', 'b').expect(201);
    const [other] = (await vault.history('b.md')).body.versions;
    await expectError(vault.history('never.md'), 404);
    for (const versionId of [other.versionId, 'x', '01a1f89e-e6e0-76e5-8f5e-6e3ef71d063b']) {
      await expectError(vault.history('a.md').query({ version: versionId }), 404);
      await expectError(vault.restore('a.md', versionId), 404);
      await expectError(vault.restore('never.md', versionId), 404);
    }
    await expectError(vault.request('post', '/restore/a.md').send({ versionId: 7 }), 400);
    await expectError(vault.request('post', '/restore/a.md').send({}), 400);
    await expectError(vault.request('get', '/history/a.md?version=a&version=b'), 400);
  });

  it('restores a version as one new version, also of a deleted note', async () => {
    await vault.create('a.md', 'one').expect(201);
    await vault.update('a.md', 'two').expect(200);
    await vault.remove('a.md').expect(200);
    const { versions } = (await vault.history('a.md')).body;
    const { body } = await vault.restore('a.md', versions[1].versionId).expect(200);
    expect(body).toEqual({ path: 'a.md', version: 3, contentHash: versions[1].contentHash });
    expect((await vault.read('a.md').expect(200)).body).toMatchObject({ content: 'one', version: 3 });
    expect((await vault.history('a.md')).body.versions.length).toBe(3);
    await expectReplayLaw(vault.workspace);
  });
});

describe('checkpoints', () => {
  it('have plaintext labels in this API and encrypted labels elsewhere', async () => {
    await vault.create('a.md', 'x').expect(201);
    const { body } = await vault
      .request('post', '/checkpoints')
      .send({ label: 'Vor dem Umbau 🏗' })
      .expect(201);
    const [encrypted] = await vault.workspace.checkpoints();
    expect(await decryptLabel(vault.keys, encrypted!.encryptedLabel)).toBe('Vor dem Umbau 🏗');
    const { encryptedLabel, ...rest } = encrypted!;
    expect(encryptedLabel).toBeDefined();
    const { id, ...shown } = rest;
    expect(body).toEqual({ id, workspaceId: vault.workspace.id, label: 'Vor dem Umbau 🏗', ...shown });
    expect(shown).toMatchObject({ kind: 'manual', cursor: 1 });

    await vault.workspace.checkpoint(await encryptLabel(vault.keys, 'by a client'));
    await vault.workspace.checkpoint('bm90IG91cnM=');
    const list = (await vault.request('get', '/checkpoints').expect(200)).body.checkpoints;
    expect(list).toMatchObject([{ label: null }, { label: 'by a client' }, { label: 'Vor dem Umbau 🏗' }]);
    expect(Object.keys(list[0])).toEqual(['id', 'label', 'kind', 'cursor', 'createdAt']);
  });

  it('are all listed with labels, however many: the keys are kept until the list is sent', async () => {
    await vault.workspace.checkpoint(await encryptLabel(vault.keys, 'x'.repeat(4000)));
    await service.database.query(
      `INSERT INTO checkpoints (workspace_id, id, encrypted_label, kind, cursor, created_at)
       SELECT workspace_id, gen_random_uuid(), encrypted_label, kind, cursor, created_at
       FROM checkpoints, generate_series(1, 1234) WHERE workspace_id = $1`,
      [vault.workspace.id],
    );
    const { checkpoints } = (await vault.request('get', '/checkpoints').expect(200)).body as {
      checkpoints: { label: string | null }[];
    };
    expect(checkpoints.length).toBe(1235);
    expect(checkpoints.filter(({ label }) => label?.length !== 4000)).toEqual([]);
  });

  it('are summarised with plaintext paths', async () => {
    await vault.create('a.md', '1').expect(201);
    await vault.request('post', '/checkpoints').send({ label: 'one' }).expect(201);
    await vault.update('a.md', '2').expect(200);
    await vault.create('b.md', '1').expect(201);
    await vault.remove('b.md').expect(200);
    await vault.workspace.put('YQ', 'strange').expect(201);
    const { id } = (await vault.request('post', '/checkpoints').send({ label: 'two' }).expect(201)).body;
    const { body } = await vault.request('get', `/checkpoints/${id}/summary`).expect(200);
    expect(body).toEqual({
      fromCursor: 1,
      toCursor: 5,
      entries: [
        { path: 'a.md', action: 'modified', changeCount: 1, latestVersion: 2 },
        { path: 'b.md', action: 'deleted', changeCount: 2, latestVersion: 1 },
        { path: null, action: 'created', changeCount: 1, latestVersion: 1 },
      ],
    });
    const all = (await vault.request('get', `/checkpoints/${id}/summary?fromCursor=0`).expect(200)).body;
    expect(all.entries[0]).toMatchObject({ path: 'a.md', action: 'created', changeCount: 2 });
    await expectError(vault.request('get', `/checkpoints/${id}/summary?fromCursor=x`), 400);
    await expectError(vault.request('get', `/checkpoints/${id}/summary?fromCursor=6`), 400);
    await expectError(vault.request('get', '/checkpoints/x/summary'), 404);

    const other = await TestVault.setUp(await vault.workspace.user.workspace('other'));
    await expectError(other.request('get', `/checkpoints/${id}/summary`), 404);
    await service.database.query('UPDATE workspaces SET compaction_floor = 1 WHERE id = $1', [
      vault.workspace.id,
    ]);
    const refused = await vault.request('get', `/checkpoints/${id}/summary`).expect(409);
    expect(refused.body).toEqual({ error: expect.any(String), compactionFloor: 1 });
  });

  it('refuse a label that does not fit into its envelope', async () => {
    const make = (label: unknown): supertest.Test => vault.request('post', '/checkpoints').send({ label });
    for (const label of ['', null, undefined, 7, 'x'.repeat(6084), 'ü'.repeat(3042)])
      await expectError(make(label), 400, /^label must be/);
    await make('x'.repeat(6083)).expect(201);
    await make('ü'.repeat(3041)).expect(201);
  });
});

describe('plaintext bytes in memory', () => {
  const requestOf = (...chunks: string[]): IncomingMessage => {
    const body = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
    return Object.assign(body, { headers: {}, complete: true }) as unknown as IncomingMessage;
  };
  const bodies = (): NoteBodies => service.app.get(NoteBodies, { strict: false });

  it('are wiped after a write', async () => {
    const lent: Buffer[] = [];
    const refusal = new Error('refused');
    const request = requestOf('{"path":"a.md","content":"text"}');
    const lending = bodies().lend(request, vault.workspace.user.id, ({ content }) => {
      expect(content.toString()).toBe('text');
      lent.push(content);
      return Promise.reject(refusal);
    });
    await expect(lending).rejects.toBe(refusal);
    expect(lent).toEqual([Buffer.alloc(4)]);
  });

  it.each([
    ['is no JSON', '{"path":"a.md","content":"text"'],
    ['ends early', '{"path":"a.md","content":"tex'],
    ['has the content twice', '{"content":"text","content":"more"}'],
  ])('are wiped when the body %s', async (_, body) => {
    const append = jest.spyOn(GrowingBytes.prototype, 'append');
    const lending = bodies().lend(requestOf(body), vault.workspace.user.id, () => Promise.resolve());
    await expect(lending).rejects.toBeInstanceOf(BadRequest);
    const [bytes] = append.mock.contexts as GrowingBytes[];
    append.mockRestore();
    expect(bytes?.whole().length).toBeGreaterThan(2);
    expect(bytes?.whole().every((byte) => byte === 0)).toBe(true);
  });

  it('are wiped after a read', async () => {
    await vault.create('a.md', 'text').expect(201);
    const { workspace, masterKey } = vault;
    const keys = await WipeableKeys.of(masterKey);
    const opened = await service.app
      .get(Notes, { strict: false })
      .read(
        { sessionId: '', accessTokenId: null, userId: workspace.user.id, workspaceId: workspace.id, keys },
        'a.md',
      );
    const [content] = opened.pieces as Buffer[];
    expect(content?.toString()).toBe('text');
    opened.close();
    expect(content).toEqual(Buffer.alloc(4));
  });
});

describe('a note’s size', () => {
  it('may be MAX_FILE_BYTES of plaintext, and is 413 beyond', async () => {
    await vault.create('most.md', 'x'.repeat(2_000_000)).expect(201);
    expect((await vault.list()).map(({ size }) => size)).toEqual([2_000_000]);
    expect((await vault.read('most.md').expect(200)).body.content.length).toBe(2_000_000);
    await expectError(vault.create('more.md', 'x'.repeat(2_000_001)), 413);
    await expectError(vault.update('most.md', 'ü'.repeat(1_000_001)), 413);
    expect((await vault.list()).length).toBe(1);
  });

  it('counts the decoded text, not its JSON escapes', async () => {
    const escaped = `{"path":"escaped.md","content":"${'\\u00e9'.repeat(200_000)}"}`;
    await sendText(escaped).expect(201);
    expect((await vault.read('escaped.md')).body.content).toBe('é'.repeat(200_000));
    await expectError(sendText(`{"padding":"${'x'.repeat(70_000)}","path":"b.md","content":""}`), 413);
  });
});
