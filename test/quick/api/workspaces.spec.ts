import { randomUUID } from 'node:crypto';
import type supertest from 'supertest';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { eventually } from '../../kit/eventually.js';
import { footprint, NOTHING } from '../../kit/footprint.js';
import { sha256, startService, type TestService, type TestUser, TestWorkspace } from '../../kit/index.js';
import { answerOf, headOf, openSocket, received } from '../../kit/raw-http.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const SALT = 'ab'.repeat(32);
const HASH = sha256('the right password');
const ENCRYPTION = { encryptionSalt: SALT, verificationHash: HASH, verificationSalt: 'cd'.repeat(16) };

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

function create(user: TestUser, name: unknown): supertest.Test {
  return user.post('/api/v1/workspaces').send({ name });
}

function setUp(workspace: TestWorkspace, body: object = ENCRYPTION): supertest.Test {
  return workspace.user.post(`${workspace.path}/setup-encryption`).send(body);
}

function verify(workspace: TestWorkspace, verificationHash: unknown): supertest.Test {
  return workspace.user.post(`${workspace.path}/verify-password`).send({ verificationHash });
}

async function detail(workspace: TestWorkspace): Promise<Record<string, unknown>> {
  return (await workspace.user.get(workspace.path).expect(200)).body as Record<string, unknown>;
}

async function purged(at = service): Promise<void> {
  await at.app.get(WorkspacePurge).resume();
  await at.app.get(WorkspacePurge).idle();
}

/** Every route of a workspace, each with a request that would otherwise succeed. */
const ROUTES: [string, (workspace: TestWorkspace) => supertest.Test][] = [
  ['GET workspace', ({ user, path }) => user.get(path)],
  ['POST setup-encryption', (workspace) => setUp(workspace)],
  ['POST verify-password', (workspace) => verify(workspace, HASH)],
  ['GET files', ({ user, path }) => user.get(`${path}/files`)],
  ['PUT file', (workspace) => workspace.put('YQ', 'mine now')],
  ['GET file', ({ user, path }) => user.get(`${path}/files/YQ`)],
  ['DELETE file', (workspace) => workspace.delete('YQ')],
  ['GET status', ({ user, path }) => user.get(`${path}/sync/status`)],
  ['GET snapshot', (workspace) => workspace.snapshot()],
  ['POST push', (workspace) => workspace.push(0, ['YQ'])],
  ['POST pull', (workspace) => workspace.pull(0)],
  ['DELETE workspace', ({ user, path }) => user.delete(path)],
];

describe('POST /api/v1/workspaces', () => {
  it('creates a workspace, and returns its fields in camelCase', async () => {
    const alice = await service.user('create-alice');
    const { body } = await create(alice, '  My notes ').expect(201);
    expect(body).toEqual({
      id: expect.stringMatching(UUID),
      userId: alice.id,
      name: 'My notes',
      createdAt: expect.stringMatching(TIME),
      updatedAt: body.createdAt,
    });
  });

  it('takes nothing but the name from the request', async () => {
    const alice = await service.user('create-smuggler');
    const bob = await service.user('create-victim');
    const smuggled = {
      ...{ id: randomUUID(), userId: bob.id, user_id: bob.id, encryption_salt: SALT, encryptionSalt: SALT },
      ...{ head_cursor: 7, compactionFloor: 7, deleted_at: '2001-01-01', createdAt: '2001-01-01T00:00:00Z' },
    };
    const { body } = await alice
      .post('/api/v1/workspaces')
      .send({ ...smuggled, name: 'mine' })
      .expect(201);
    expect(body.userId).toBe(alice.id);
    expect(body.id).not.toBe(smuggled.id);
    const workspace = new TestWorkspace(alice, body.id);
    expect((await detail(workspace)).encryption_salt).toBeNull();
    expect(await workspace.status()).toEqual({ cursor: 0, fileCount: 0 });
    expect((await bob.get('/api/v1/workspaces').expect(200)).body).toEqual({ workspaces: [] });
  });

  it.each([
    ['one character', 'x', 'x'],
    ['255 characters', 'x'.repeat(255), 'x'.repeat(255)],
    ['255 characters between spaces', ` \t\n${'x'.repeat(255)}\u00a0 `, 'x'.repeat(255)],
    ['255 characters beyond the basic plane', '🗒'.repeat(255), '🗒'.repeat(255)],
    ['an emoji of several characters', '👩‍👩‍👧‍👦', '👩‍👩‍👧‍👦'],
    ['text that looks like markup or SQL', `<b>'); DROP TABLE users;--`, `<b>'); DROP TABLE users;--`],
    ['right-to-left text', 'ملاحظات', 'ملاحظات'],
  ])('keeps a name of %s', async (name, sent, kept) => {
    const alice = await service.user(`name-${sha256(name).slice(0, 20)}`);
    const { body } = await create(alice, sent).expect(201);
    expect(body.name).toBe(kept);
    expect((await alice.get(`/api/v1/workspaces/${body.id}`).expect(200)).body.name).toBe(kept);
  });

  it.each([
    ['none', undefined],
    ['null', null],
    ['empty', ''],
    ['blank', ' \t\n '],
    ['256 characters', 'x'.repeat(256)],
    ['256 characters beyond the basic plane', '🗒'.repeat(256)],
    ['more than 255 characters with variation selectors', '❤\ufe0f'.repeat(200)],
    ['half a surrogate pair', 'a\ud83db'],
    ['NUL', 'a\u0000b'],
    ['a line feed', 'a\nb'],
    ['an escape sequence', 'a\u001b[2Jb'],
    ['a C1 control character', 'a\u0085b'],
    ['a number', 7],
    ['a boolean', true],
    ['a list', ['notes']],
    ['an object', { toString: 'notes' }],
  ])('refuses as a name: %s', async (_, name) => {
    const alice = await service.user('name-refused');
    const answer = await create(alice, name);
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({ error: expect.any(String) });
    expect((await alice.get('/api/v1/workspaces').expect(200)).body).toEqual({ workspaces: [] });
  });
});

describe('GET /api/v1/workspaces', () => {
  it("lists the caller's own workspaces in snake_case, oldest first", async () => {
    const alice = await service.user('list-alice');
    const bob = await service.user('list-bob');
    const created: Record<string, unknown>[] = [];
    for (const name of ['b', 'a', 'b']) created.push((await create(alice, name).expect(201)).body);
    await create(bob, 'of bob').expect(201);

    const { body } = await alice.get('/api/v1/workspaces').expect(200);
    expect(body).toEqual({
      workspaces: created.map(({ id, name, createdAt }) => ({
        ...{ id, user_id: alice.id, name, encryption_salt: null },
        ...{ created_at: createdAt, updated_at: createdAt },
      })),
    });
  });

  it('is an empty list for a newcomer', async () => {
    const newcomer = await service.newcomer('list-newcomer');
    expect((await newcomer.get('/api/v1/workspaces').expect(200)).body).toEqual({ workspaces: [] });
  });
});

describe('GET /api/v1/workspaces/:id', () => {
  it('returns the same fields as the list, with the salt once it is set', async () => {
    const alice = await service.user('detail-alice');
    const workspace = await alice.workspace('notes');
    const before = await detail(workspace);
    expect(before).toEqual({
      id: workspace.id,
      user_id: alice.id,
      name: 'notes',
      encryption_salt: null,
      created_at: expect.stringMatching(TIME),
      updated_at: before.created_at,
    });
    service.clock.advance(1000);
    await setUp(workspace).expect(200);
    const after = await detail(workspace);
    expect(after).toEqual({ ...before, encryption_salt: SALT, updated_at: expect.stringMatching(TIME) });
    expect(Date.parse(String(after.updated_at))).toBeGreaterThan(Date.parse(String(before.updated_at)));
  });

  it('accepts the id in capitals', async () => {
    const workspace = await (await service.user('capitals')).workspace();
    const { body } = await workspace.user.get(`/api/v1/workspaces/${workspace.id.toUpperCase()}`).expect(200);
    expect(body.id).toBe(workspace.id);
  });
});

describe('POST /api/v1/workspaces/:id/setup-encryption', () => {
  it('stores its values in lower case', async () => {
    const workspace = await (await service.user('setup-case')).workspace();
    const inCapitals = Object.entries(ENCRYPTION).map(([key, value]) => [key, value.toUpperCase()]);
    const { body } = await setUp(workspace, Object.fromEntries(inCapitals) as object).expect(200);
    expect(body).toEqual({ ok: true });
    const [row] = await service.database.query(
      'SELECT encryption_salt, verification_hash, verification_salt FROM workspaces WHERE id = $1',
      [workspace.id],
    );
    expect(row).toEqual({
      encryption_salt: ENCRYPTION.encryptionSalt,
      verification_hash: ENCRYPTION.verificationHash,
      verification_salt: ENCRYPTION.verificationSalt,
    });
  });

  it('is 409 the second time, also with the same values, and changes nothing', async () => {
    const workspace = await (await service.user('setup-twice')).workspace();
    await setUp(workspace).expect(200);
    const before = await detail(workspace);
    expect((await setUp(workspace).expect(409)).body).toEqual({ error: expect.any(String) });
    await setUp(workspace, { ...ENCRYPTION, encryptionSalt: 'ef'.repeat(32) }).expect(409);
    expect(await detail(workspace)).toEqual(before);
    expect((await verify(workspace, HASH)).body).toEqual({ valid: true });
  });

  it('succeeds for one of four concurrent requests, and stores all of its values', async () => {
    const workspace = await (await service.user('setup-race')).workspace();
    const bodies = ['1', '2', '3', '4'].map((digit) => ({
      encryptionSalt: digit.repeat(64),
      verificationHash: digit.repeat(64),
      verificationSalt: digit.repeat(32),
    }));
    const answers = await Promise.all(bodies.map((body) => setUp(workspace, body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    const winner = bodies[answers.findIndex(({ status }) => status === 200)]!;
    expect((await detail(workspace)).encryption_salt).toBe(winner.encryptionSalt);
    expect((await verify(workspace, winner.verificationHash)).body).toEqual({ valid: true });
  });

  it.each([32, 34, 64, 128])('accepts a verificationSalt of %d characters', async (length) => {
    const workspace = await (await service.user(`setup-salt-${length}`)).workspace();
    await setUp(workspace, { ...ENCRYPTION, verificationSalt: 'a'.repeat(length) }).expect(200);
  });

  it.each([
    ['an empty object', {}],
    ['no encryptionSalt', { ...ENCRYPTION, encryptionSalt: undefined }],
    ['encryptionSalt of 63', { ...ENCRYPTION, encryptionSalt: 'a'.repeat(63) }],
    ['encryptionSalt of 65', { ...ENCRYPTION, encryptionSalt: 'a'.repeat(65) }],
    ['encryptionSalt that is not hex', { ...ENCRYPTION, encryptionSalt: 'g'.repeat(64) }],
    ['encryptionSalt with a line feed', { ...ENCRYPTION, encryptionSalt: `${SALT}\n` }],
    ['encryptionSalt null', { ...ENCRYPTION, encryptionSalt: null }],
    ['encryptionSalt in a list', { ...ENCRYPTION, encryptionSalt: [SALT] }],
    ['no verificationHash', { ...ENCRYPTION, verificationHash: undefined }],
    ['verificationHash of 63', { ...ENCRYPTION, verificationHash: 'a'.repeat(63) }],
    ['verificationHash of 128', { ...ENCRYPTION, verificationHash: 'a'.repeat(128) }],
    ['verificationHash a number', { ...ENCRYPTION, verificationHash: 7 }],
    ['no verificationSalt', { ...ENCRYPTION, verificationSalt: undefined }],
    ['verificationSalt of 30', { ...ENCRYPTION, verificationSalt: 'a'.repeat(30) }],
    ['verificationSalt of 33', { ...ENCRYPTION, verificationSalt: 'a'.repeat(33) }],
    ['verificationSalt of 130', { ...ENCRYPTION, verificationSalt: 'a'.repeat(130) }],
    ['verificationSalt with NUL', { ...ENCRYPTION, verificationSalt: `${'a'.repeat(32)}\u0000` }],
  ])('refuses %s, and set-up is still possible', async (_, body) => {
    const workspace = await (await service.user('setup-refused')).workspace();
    const answer = await setUp(workspace, body);
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({ error: expect.any(String) });
    await setUp(workspace).expect(200);
  });
});

describe('POST /api/v1/workspaces/:id/verify-password', () => {
  it('reports whether the hash is the stored one, in upper or lower case', async () => {
    const workspace = await (await service.user('verify-alice')).workspace();
    await setUp(workspace).expect(200);
    expect((await verify(workspace, HASH).expect(200)).body).toEqual({ valid: true });
    expect((await verify(workspace, HASH.toUpperCase()).expect(200)).body).toEqual({ valid: true });
    expect((await verify(workspace, sha256('another')).expect(200)).body).toEqual({ valid: false });
    expect((await verify(workspace, SALT).expect(200)).body).toEqual({ valid: false });
  });

  it('reports false before set-up', async () => {
    const workspace = await (await service.user('verify-early')).workspace();
    expect((await verify(workspace, HASH).expect(200)).body).toEqual({ valid: false });
    expect((await verify(workspace, '0'.repeat(64)).expect(200)).body).toEqual({ valid: false });
  });

  it.each([
    [undefined],
    [null],
    [''],
    ['a'.repeat(63)],
    ['a'.repeat(65)],
    ['g'.repeat(64)],
    [7],
    [[HASH]],
    [{ hash: HASH }],
  ])('refuses an invalid hash: %#', async (hash) => {
    const workspace = await (await service.user('verify-refused')).workspace();
    expect((await verify(workspace, hash).expect(400)).body).toEqual({ error: expect.any(String) });
  });

  describe('with rate limits on', () => {
    let limited: TestService;
    let other: TestService;
    beforeAll(async () => {
      limited = await startService({ env: { RATE_LIMIT_PER_MINUTE: '1200' } });
      other = await startService({ env: { RATE_LIMIT_PER_MINUTE: '1200' }, beside: limited });
    });
    afterAll(async () => {
      await other.close();
      await limited.close();
    });
    beforeEach(() => limited.clock.stopAt(new Date('2026-05-01T10:00:20.000Z')));

    it('allows ten attempts a minute for a workspace, right or wrong, on all instances together', async () => {
      const alice = await limited.user('verify-limited');
      const workspace = await alice.workspace();
      const neighbour = await alice.workspace();
      const elsewhere = workspace.as(alice.at(other.url));
      await setUp(workspace).expect(200);
      for (let tries = 0; tries < 5; tries++) {
        expect((await verify(workspace, SALT).expect(200)).body).toEqual({ valid: false });
        expect((await verify(elsewhere, HASH).expect(200)).body).toEqual({ valid: true });
      }
      for (const at of [workspace, elsewhere]) {
        const refused = await verify(at, HASH).expect(429);
        expect(refused.body).toEqual({ error: 'too many requests' });
        expect(refused.headers['retry-after']).toBe('40');
      }
      await verify(neighbour, HASH).expect(200);

      limited.clock.advance(39_999);
      await verify(workspace, HASH).expect(429);
      limited.clock.advance(1);
      expect((await verify(workspace, HASH).expect(200)).body).toEqual({ valid: true });
    });

    it('allows no more in a burst of concurrent requests', async () => {
      const workspace = await (await limited.user('verify-burst')).workspace();
      const answers = await Promise.all(Array.from({ length: 30 }, () => verify(workspace, HASH)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
    });

    it('does not count requests of other users, who could lock the owner out', async () => {
      const workspace = await (await limited.user('verify-owner')).workspace();
      const stranger = workspace.as(await limited.user('verify-stranger'));
      for (let tries = 0; tries < 11; tries++) await verify(stranger, HASH).expect(404);
      await verify(workspace, HASH).expect(200);
    });
  });
});

describe('a workspace of another user', () => {
  it.each(ROUTES)('is answered like one that does not exist: %s', async (name, request) => {
    const suffix = name.replaceAll(' ', '-');
    const workspace = await (await service.user(`owner-${suffix}`)).workspace();
    await workspace.put('YQ', 'of alice').expect(201);
    const before = await footprint(service, workspace.id);
    const mallory = await service.user(`stranger-${suffix}`);

    const foreign = await request(workspace.as(mallory));
    const absent = await request(new TestWorkspace(mallory, randomUUID()));
    expect(foreign.status).toBe(404);
    expect(foreign.text).toBe('{"error":"workspace not found"}');
    expect(foreign.text).toBe(absent.text);
    expect(comparable(foreign)).toEqual(comparable(absent));

    expect(await footprint(service, workspace.id)).toEqual(before);
    expect((await workspace.get('YQ').expect(200)).body).toEqual(Buffer.from('of alice'));
    expect((await detail(workspace)).encryption_salt).toBeNull();
  });

  /** The headers, except those that differ between any two answers. */
  function comparable({ status, headers }: supertest.Response): unknown {
    return { status, headers: { ...headers, date: '', 'x-request-id': '' } };
  }
});

describe('a malformed workspace id', () => {
  it.each(ROUTES)('is 404: %s', async (_, request) => {
    const alice = await service.user('no-uuid');
    const braced = `%7B${randomUUID()}%7D`;
    for (const id of [
      'x',
      '1',
      '%00',
      'null',
      braced,
      `${randomUUID()}0`,
      randomUUID().replaceAll('-', ''),
      '%F0%9F%97%92',
    ]) {
      const { status, body } = await request(new TestWorkspace(alice, id));
      expect({ id, status, body }).toEqual({ id, status: 404, body: { error: 'workspace not found' } });
    }
  });
});

describe('without a bearer', () => {
  it.each([
    ...ROUTES,
    ['GET workspaces', ({ user }: TestWorkspace) => user.get('/api/v1/workspaces')] as const,
    ['POST workspaces', ({ user }: TestWorkspace) => create(user, 'x')] as const,
  ])('is 401: %s', async (_, request) => {
    const alice = await service.newcomer('no-bearer');
    const { status, headers } = await request(
      new TestWorkspace(alice.at(service.url, 'x.y.z'), randomUUID()),
    );
    expect(status).toBe(401);
    expect(headers['www-authenticate']).toBe('Bearer');
  });
});

describe('DELETE /api/v1/workspaces/:id', () => {
  /** A workspace with versions inline and on disk, and a deleted file. */
  async function filled(name: string, at = service): Promise<TestWorkspace> {
    const workspace = await (await at.user(name)).workspace();
    await workspace.put('c21hbGw', 'small').expect(201);
    await workspace.put('c21hbGw', 'smaller').expect(200);
    await workspace.put('bGFyZ2U', Buffer.alloc(100_000, 'l')).expect(201);
    await workspace.put('Z29uZQ', 'gone').expect(201);
    await workspace.delete('Z29uZQ').expect(200);
    return workspace;
  }

  it('makes every route of the workspace 404 at once', async () => {
    const workspace = await filled('delete-at-once');
    const { body } = await workspace.user.delete(workspace.path).expect(200);
    expect(body).toEqual({ ok: true });
    for (const [name, request] of ROUTES) {
      const answer = await request(workspace);
      expect({ name, status: answer.status }).toEqual({ name, status: 404 });
    }
    expect((await workspace.user.get('/api/v1/workspaces').expect(200)).body).toEqual({ workspaces: [] });
  });

  it('makes every route 404 before the purge has begun', async () => {
    const workspace = await filled('delete-before-purge');
    await workspace.put('YQ', 'here');
    await service.database.query('UPDATE workspaces SET deleted_at = now() WHERE id = $1', [workspace.id]);
    for (const [name, request] of ROUTES) {
      const answer = await request(workspace);
      expect({ name, status: answer.status }).toEqual({ name, status: 404 });
    }
  });

  it('succeeds for one of three concurrent requests; the others are 404', async () => {
    const workspace = await filled('delete-twice');
    const answers = await Promise.all([1, 2, 3].map(() => workspace.user.delete(workspace.path)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404]);
  });

  it('removes every row and every byte, and nothing of another workspace', async () => {
    const workspace = await filled('delete-all');
    const other = await workspace.user.workspace('other');
    await other.put('b3RoZXI', Buffer.alloc(100_000, 'o')).expect(201);
    const kept = await footprint(service, other.id);
    expect(await footprint(service, workspace.id)).toEqual({
      ...{ workspaces: 1, files: 3, versions: 4, changes: 5, blobs: 4 },
      onDisk: [100_000],
    });

    await workspace.user.delete(workspace.path).expect(200);
    await service.app.get(WorkspacePurge).idle();
    expect(await footprint(service, workspace.id)).toEqual(NOTHING);
    expect(await footprint(service, other.id)).toEqual(kept);
    expect((await other.get('b3RoZXI').expect(200)).body).toEqual(Buffer.alloc(100_000, 'o'));
  });

  it('purges in bounded batches', async () => {
    const workspace = await filled('delete-batches');
    await service.database.query(
      `INSERT INTO changes (workspace_id, cursor, file_id, action, content_hash, encrypted_size, version, changed_at)
       SELECT workspace_id, 5 + n, id, 'upsert', content_hash, encrypted_size, version, updated_at
       FROM (SELECT * FROM files WHERE workspace_id = $1 LIMIT 1) f, generate_series(1, 2500) AS n`,
      [workspace.id],
    );
    await service.database.query(`
      CREATE TABLE batches (workspace_id uuid, size int);
      CREATE FUNCTION note_batch() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO batches SELECT workspace_id, count(*) FROM gone GROUP BY 1; RETURN NULL; END $$;
      CREATE TRIGGER note_batch AFTER DELETE ON changes REFERENCING OLD TABLE AS gone
        FOR EACH STATEMENT EXECUTE FUNCTION note_batch();`);

    await workspace.user.delete(workspace.path).expect(200);
    await service.app.get(WorkspacePurge).idle();
    expect(await footprint(service, workspace.id)).toEqual(NOTHING);
    const batches = await service.database.query(
      'SELECT size FROM batches WHERE workspace_id = $1 ORDER BY 1',
      [workspace.id],
    );
    expect(batches.map(({ size }) => size)).toEqual([505, 1000, 1000]);
  });

  it('is completed by the next start after a crash', async () => {
    const marked = await filled('delete-crash-early');
    const halfway = await filled('delete-crash-halfway');
    await service.database.query('DELETE FROM changes WHERE workspace_id = $1 AND cursor < 3', [halfway.id]);
    await service.database.query('UPDATE workspaces SET deleted_at = now() WHERE id = ANY ($1)', [
      [marked.id, halfway.id],
    ]);

    const next = await startService({ beside: service });
    try {
      await next.app.get(WorkspacePurge).idle();
      await service.app.get(WorkspacePurge).idle(); // it may have seen one of them as well
      expect(await footprint(service, marked.id)).toEqual(NOTHING);
      expect(await footprint(service, halfway.id)).toEqual(NOTHING);
    } finally {
      await next.close();
    }
  });

  it('may be purged by two instances at once', async () => {
    const workspaces = await Promise.all([1, 2, 3].map((n) => filled(`delete-both-${n}`)));
    const next = await startService({ beside: service });
    try {
      const ids = workspaces.map(({ id }) => id);
      await service.database.query('UPDATE workspaces SET deleted_at = now() WHERE id = ANY ($1)', [ids]);
      await Promise.all([purged(service), purged(next)]);
      for (const id of ids) expect(await footprint(service, id)).toEqual(NOTHING);
    } finally {
      await next.close();
    }
  });

  describe('while an upload is under way', () => {
    const CONTENT = Buffer.alloc(300_000, 'u');

    /** Sends all but the last byte of an upload and waits until the service has begun to store it. */
    async function uploadTo(workspace: TestWorkspace): Promise<ReturnType<typeof openSocket>> {
      const socket = openSocket(service.url);
      const headers = {
        Host: new URL(service.url).host,
        Authorization: `Bearer ${workspace.user.token}`,
        'Content-Type': 'application/octet-stream',
        'Content-Length': String(CONTENT.length),
        'X-Content-Hash': sha256(CONTENT),
        'X-Device-Id': 'laptop',
        Connection: 'close',
      };
      socket.write(headOf('PUT', workspace.file('dXBsb2Fk'), headers));
      socket.write(CONTENT.subarray(1));
      await eventually(async () => expect((await footprint(service, workspace.id)).blobs).toBe(1));
      return socket;
    }

    it('answers the upload 404, and keeps nothing of it', async () => {
      const workspace = await (await service.user('delete-during-upload')).workspace();
      const socket = await uploadTo(workspace);
      await workspace.user.delete(workspace.path).expect(200);
      await service.app.get(WorkspacePurge).idle();

      const answer = received(socket);
      socket.write(CONTENT.subarray(0, 1));
      expect(answerOf(await answer)).toMatchObject({ status: 404, body: '{"error":"workspace not found"}' });
      await purged();
      expect(await footprint(service, workspace.id)).toEqual(NOTHING);
    });

    it('keeps nothing of an upload that is aborted afterwards', async () => {
      const workspace = await (await service.user('delete-broken-upload')).workspace();
      const socket = await uploadTo(workspace);
      await workspace.user.delete(workspace.path).expect(200);
      socket.destroy();
      await eventually(async () => {
        await purged();
        expect(await footprint(service, workspace.id)).toEqual(NOTHING);
      });
    });
  });
});
