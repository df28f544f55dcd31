import { setTimeout as pause } from 'node:timers/promises';
import type supertest from 'supertest';
import { makePasswordSlot, MASTER_KEY_KDF, newPasswordKdf } from '../../../crypto/src/index.js';
import { EndedKeySessions } from '../../../src/domain/automation/key-sessions.service.js';
import { PRIMITIVES } from '../../../src/domain/automation/wipeable-keys.js';
import { InFlightRequests } from '../../../src/platform/http/index.js';
import { KillSwitch } from '../../../src/platform/kill-switch.js';
import { automationPath, TestVault } from '../../kit/automation.js';
import { sendRaw } from '../../kit/raw-http.js';
import {
  begunRequest,
  eventually,
  sha256,
  startService,
  type TestService,
  TestUser,
} from '../../kit/index.js';
import { itDeep } from '../../kit/rounds.js';

const PASSWORD = 'Ünïcode pass – 12 ﬁsh';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let service: TestService;
let second: TestService;
let alice: TestUser;
/** Has a password. Most tests use vaults with a random key instead, which need no key derivation. */
let vault: TestVault;
beforeAll(async () => {
  service = await startService();
  second = await startService({ beside: service });
  alice = await withoutExpiry(await service.user('alice'));
  vault = await TestVault.setUp(await alice.workspace(), PASSWORD);
});
afterAll(async () => {
  await second.close();
  await service.close();
});

/** A JWT lives for 15 minutes, like an unused key session: too short for tests that move the clock. */
async function withoutExpiry(user: TestUser): Promise<TestUser> {
  return user.at(user.url, (await mint(user, {})).token);
}

async function mint(user: TestUser, body: object): Promise<{ id: string; token: string }> {
  const fresh = user.token.startsWith('pat_') ? await service.user('alice') : user;
  return (
    await fresh
      .post('/api/v1/auth/tokens')
      .send({ name: 'tool', ...body })
      .expect(201)
  ).body;
}

async function revoke(id: string): Promise<void> {
  await (await service.user('alice')).delete(`/api/v1/auth/tokens/${id}`).expect(200);
}

/** The cost of each derivation from a password that `work` begins: iterations of PBKDF2, or KiB × passes of Argon2id. */
async function costsOf(work: () => PromiseLike<unknown>): Promise<number[]> {
  const pbkdf2 = jest.spyOn(PRIMITIVES, 'pbkdf2');
  const argon2id = jest.spyOn(PRIMITIVES, 'argon2id');
  try {
    await work();
    return [
      ...pbkdf2.mock.calls.map(([, , iterations]) => iterations),
      ...argon2id.mock.calls.map(([{ memoryKiB, passes }]) => memoryKiB * passes),
    ];
  } finally {
    pbkdf2.mockRestore();
    argon2id.mockRestore();
  }
}

const newVault = async (): Promise<TestVault> => TestVault.setUp(await alice.workspace());

const expectRequired = async (request: supertest.Test): Promise<void> => {
  const { body, headers } = await request.expect(401);
  expect(body).toEqual({ error: 'key session required' });
  expect(headers['www-authenticate']).toBe('Bearer');
};

const isOpen = async (one: TestVault): Promise<boolean> => {
  const { status } = await one.request('get', '/notes');
  expect([200, 401]).toContain(status);
  return status === 200;
};

describe('POST key-sessions', () => {
  itDeep('queues the attempts of one user without delaying another user', async () => {
    const guessed = await Promise.all(Array.from({ length: 30 }, newVault));
    const bob = await TestVault.setUp(await (await service.user('bob')).workspace());
    let answered = 0;
    const guesses = guessed.map(async (one) => {
      const { status } = await one.openSession({ password: 'a guess' });
      answered++;
      return status;
    });
    const underWay = service.app.get(InFlightRequests);
    // One runs and sixteen wait.
    await eventually(() => expect([answered > 0, underWay.count < 19]).toEqual([true, true]));
    await bob.openSession({ password: 'a slip' }).expect(403);
    expect(answered).toBeLessThan(guesses.length);
    expect(new Set(await Promise.all(guesses))).toEqual(new Set([403, 503]));
  });

  it('opens with the password, in any Unicode form of it, or with the key', async () => {
    for (const credential of [
      { password: PASSWORD.normalize('NFD') },
      { password: 'Ünïcode pass – 12 fish' },
      { key: vault.masterKey.toString('base64') },
      { key: vault.masterKey.toString('base64'), password: null },
    ]) {
      const { body } = await vault.openSession(credential).expect(201);
      expect(body).toEqual({
        keySession: expect.stringMatching(/^ks_[A-Za-z0-9_-]{43}$/),
        expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      });
      const lifetime = Date.parse(body.expiresAt) - service.clock.now().getTime();
      expect(Math.abs(lifetime - 15 * MINUTE)).toBeLessThan(MINUTE);
      expect(await isOpen(vault.with(body.keySession))).toBe(true);
    }
  });

  it('is 403 for a wrong password and a wrong key', async () => {
    for (const wrong of [
      { password: `${PASSWORD} ` },
      { password: PASSWORD.toLowerCase() },
      { key: Buffer.alloc(32).toString('base64') },
    ]) {
      const { body } = await vault.openSession(wrong).expect(403);
      expect(body).toEqual({ error: expect.stringMatching(/ is wrong$/) });
    }
  });

  const INVALID = [
    {},
    { password: null, key: null },
    { password: PASSWORD, key: Buffer.alloc(32).toString('base64') },
    { password: '' },
    { password: 7 },
    { password: 'x'.repeat(1025) },
    { key: '' },
    { key: Buffer.alloc(31).toString('base64') },
    { key: Buffer.alloc(33).toString('base64') },
    { key: Buffer.alloc(32).toString('base64url') },
    { key: Buffer.alloc(32).toString('hex') },
    { key: `${'A'.repeat(42)}B=` }, // decodes to the same bytes as 42 A's and another A
    { key: ` ${Buffer.alloc(32).toString('base64')}` },
    { key: [Buffer.alloc(32).toString('base64')] },
  ];

  it('is 400 unless the body has either a well-formed password or a well-formed key', async () => {
    for (const body of INVALID) {
      expect((await vault.openSession(body).expect(400)).body).toEqual({ error: expect.any(String) });
    }
  });

  it('is 409 before the encryption is set up', async () => {
    const bare = await alice.workspace('bare');
    const request = alice.post(`${automationPath(bare.id)}/key-sessions`).send({ password: PASSWORD });
    expect((await request.expect(409)).body).toEqual({ error: 'encryption is not set up' });
  });

  it('needs the same work for a wrong password as for the right one', async () => {
    const withSlot = await newVault();
    const place = withSlot.newSlotPlace();
    const kdf = { ...newPasswordKdf('argon2id'), memoryKiB: 19_456, passes: 2 };
    await withSlot.putSlot(place.slotId, await makePasswordSlot(place, withSlot.masterKey, PASSWORD, kdf));
    for (const [of, cost] of [
      [vault, MASTER_KEY_KDF.iterations],
      [withSlot, 19_456 * 2],
    ] as const) {
      expect(await costsOf(() => of.openSession({ password: PASSWORD }).expect(201))).toEqual([cost]);
      expect(await costsOf(() => of.openSession({ password: 'wrong' }).expect(403))).toEqual([cost]);
    }
  });

  it('does not block other requests', async () => {
    const opening = vault
      .openSession({ password: PASSWORD })
      .expect(201)
      .then(() => 'opened');
    let answered = 0;
    while ((await Promise.race([opening, pause(0, 'open')])) === 'open') {
      await alice.get('/health').expect(200);
      answered++;
    }
    expect(answered).toBeGreaterThan(3);
  });
});

describe('a key session', () => {
  it('is required by every route that returns or accepts plaintext', async () => {
    const one = await newVault();
    const { path } = one;
    const requests: [Parameters<TestUser['request']>[0], string][] = [
      ['get', `${path}/notes`],
      ['get', `${path}/notes/a.md`],
      ['post', `${path}/notes`],
      ['put', `${path}/notes/a.md`],
      ['delete', `${path}/notes/a.md`],
      ['get', `${path}/search?q=a`],
      ['get', `${path}/history/a.md`],
      ['post', `${path}/restore/a.md`],
      ['get', `${path}/checkpoints`],
      ['post', `${path}/checkpoints`],
      ['get', `${path}/checkpoints/${one.workspace.id}/summary`],
      ['delete', `${path}/key-sessions/current`],
    ];
    for (const [method, at] of requests) {
      await expectRequired(alice.request(method, at));
      for (const wrong of [
        '',
        'x',
        `ks_${'A'.repeat(43)}`,
        `${one.keySession}A`,
        one.keySession.slice(0, -1),
      ])
        await expectRequired(alice.request(method, at).set('X-Key-Session', wrong));
    }
    // It is checked before the input is validated.
    await expectRequired(alice.request('post', `${path}/notes`).send('{'));
    await expectRequired(alice.request('get', `${path}/notes/a//b`));
  });

  it('ends 15 minutes after its last use', async () => {
    const one = await newVault();
    for (let use = 0; use < 3; use++) {
      service.clock.advance(14 * MINUTE);
      expect(await isOpen(one)).toBe(true);
    }
    service.clock.advance(15 * MINUTE);
    await expectRequired(one.request('get', '/notes'));
    await expectRequired(one.endSession());
  });

  it('ends after 8 hours at most, however much it is used', async () => {
    const one = await newVault();
    const step = 14 * MINUTE;
    for (let age = step; age < 8 * HOUR; age += step) {
      service.clock.advance(step);
      await one.request('get', '/notes').query({ limit: 1 }).expect(200);
    }
    service.clock.advance(step);
    await expectRequired(one.request('get', '/notes'));
  });

  it('is extended by every use; its end may come up to five seconds early', async () => {
    const one = await newVault();
    service.clock.stopAt(service.clock.now());
    service.clock.advance(10_000);
    expect(await isOpen(one)).toBe(true);
    service.clock.advance(4_999); // too soon to be recorded
    expect(await isOpen(one)).toBe(true);
    service.clock.advance(15 * MINUTE - 5_000);
    expect(await isOpen(one)).toBe(true);
    service.clock.advance(15 * MINUTE - 1);
    expect(await isOpen(one)).toBe(true);
    service.clock.advance(15 * MINUTE);
    expect(await isOpen(one)).toBe(false);
    service.clock.resume();
  });

  it('records its use at most once in five seconds', async () => {
    const one = await newVault();
    const lastUse = async (): Promise<unknown> =>
      (
        await service.database.query('SELECT last_used_at FROM key_sessions WHERE token_hash = $1', [
          hashOf(one),
        ])
      )[0];
    service.clock.stopAt(service.clock.now());
    service.clock.advance(5_000);
    await isOpen(one);
    const recorded = await lastUse();
    service.clock.advance(4_999);
    await isOpen(one);
    expect(await lastUse()).toEqual(recorded);
    service.clock.advance(1);
    await isOpen(one);
    expect(await lastUse()).not.toEqual(recorded);
    service.clock.resume();
  });

  it('can be ended by its client, at once on every instance', async () => {
    const one = await newVault();
    const there = one.with(one.keySession, alice.at(second.url));
    expect(await isOpen(there)).toBe(true);
    expect((await there.endSession().expect(200)).body).toEqual({ ok: true });
    await expectRequired(one.request('get', '/notes'));
    await expectRequired(there.endSession());
    expect(await rowsOf(one)).toBe(0);
  });

  it.each([
    ['its client ends it', (one: TestVault) => one.endSession().expect(200)],
    [
      'it expires',
      () => {
        service.clock.advance(16 * MINUTE);
      },
    ],
  ])('writes no note whose body is still arriving when %s', async (_, end) => {
    const one = await newVault();
    const note = JSON.stringify({ path: 'late.md', content: 'text' });
    const finish = await begunRequest(service, one.request('post', '/notes').type('json'), note);
    await end(one);
    const { status, text } = await finish();
    expect([status, text]).toEqual([401, '{"error":"key session required"}']);
    expect(await one.workspace.list()).toEqual([]);
  });

  it('works on every instance that shares the database', async () => {
    const one = await newVault();
    const there = one.with(one.keySession, alice.at(second.url));
    await there.create('a.md', 'written there').expect(201);
    expect((await one.read('a.md').expect(200)).body.content).toBe('written there');
    expect(await there.found('written')).toEqual(['a.md']);
    expect(await one.found('written')).toEqual(['a.md']);
  });

  it('works for its own workspace alone', async () => {
    const [one, other] = [await newVault(), await newVault()];
    await expectRequired(other.with(one.keySession).request('get', '/notes'));
    expect(await isOpen(other)).toBe(true);
  });

  it('works for its own user alone: another user gets 404 for the workspace', async () => {
    const one = await newVault();
    const bob = await service.user('bob');
    await one.with(one.keySession, bob).request('get', '/notes').expect(404);
    const his = await TestVault.setUp(await bob.workspace());
    await expectRequired(his.with(one.keySession).request('get', '/notes'));
    await expectRequired(one.with(his.keySession, alice).request('get', '/notes'));
  });

  it('works with other tokens of its user, each within its scopes', async () => {
    const one = await newVault();
    const reader = await mint(alice, { scopes: ['documents:read'] });
    const reading = one.with(one.keySession, alice.at(alice.url, reader.token));
    expect(await isOpen(reading)).toBe(true);
    await reading.create('a.md', 'x').expect(403);
  });

  it('ends when the personal access token that opened it is revoked', async () => {
    const one = await newVault();
    const { id, token } = await mint(alice, { scopes: ['documents:read'] });
    const opened = await one.withNewSession(alice.at(alice.url, token));
    const seenByAnother = one.with(opened.keySession);
    expect(await isOpen(seenByAnother)).toBe(true);
    await revoke(id);
    await expectRequired(seenByAnother.request('get', '/notes'));
    await expectRequired(
      seenByAnother.with(opened.keySession, alice.at(second.url)).request('get', '/notes'),
    );
    expect(await isOpen(one)).toBe(true);
  });

  it('ends when the personal access token that opened it expires', async () => {
    const one = await newVault();
    const expiresAt = new Date(service.clock.now().getTime() + 5 * MINUTE).toISOString();
    const { token } = await mint(alice, { scopes: ['documents:read'], expiresAt });
    const opened = one.with((await one.withNewSession(alice.at(alice.url, token))).keySession);
    expect(await isOpen(opened)).toBe(true);
    service.clock.advance(5 * MINUTE);
    await expectRequired(opened.request('get', '/notes'));
  });

  it('ends with its workspace', async () => {
    const one = await newVault();
    await alice.delete(one.workspace.path).expect(200);
    await one.request('get', '/notes').expect(404);
    await eventually(async () => expect(await rowsOf(one)).toBe(0));
  });

  it('ends with its user', async () => {
    const carol = await service.user('carol');
    const one = await TestVault.setUp(await carol.workspace());
    await service.database.query('UPDATE workspaces SET user_id = $1 WHERE id = $2', [
      alice.id,
      one.workspace.id,
    ]);
    await service.database.query('DELETE FROM users WHERE id = $1', [carol.id]);
    expect(await rowsOf(one)).toBe(0);
    await expectRequired(one.with(one.keySession, alice).request('get', '/notes'));
  });

  it('leaves no row behind when it expires or its token is revoked', async () => {
    const ended = await newVault();
    const { id, token } = await mint(alice, {});
    const revoked = await (await newVault()).withNewSession(alice.at(alice.url, token));
    service.clock.advance(14 * MINUTE);
    const live = await newVault();
    await revoke(id);
    service.clock.advance(MINUTE);
    await service.app.get(EndedKeySessions, { strict: false }).forget();
    expect([await rowsOf(ended), await rowsOf(revoked), await rowsOf(live)]).toEqual([0, 0, 1]);
  });
});

describe('the database', () => {
  it('contains neither the token of a key session nor a key', async () => {
    const one = await newVault();
    const [row] = await service.database.query<{ row: string }>(
      'SELECT key_sessions::text AS row FROM key_sessions WHERE token_hash = $1',
      [hashOf(one)],
    );
    expect(row!.row).not.toContain(one.keySession);
    expect(row!.row).not.toContain(Buffer.from(one.keySession).toString('hex'));
    for (const key of [one.masterKey, ...Object.values(one.subkeys)])
      expect(row!.row).not.toContain(Buffer.from(key).toString('hex'));
  });

  it('opens no other workspace when a key or a row of key_sessions is moved to it', async () => {
    const [one, other] = [await newVault(), await newVault()];
    const move = (what: string): Promise<unknown> =>
      service.database.query(
        `UPDATE key_sessions SET ${what} FROM key_sessions source
         WHERE source.token_hash = $1 AND key_sessions.token_hash = $2`,
        [hashOf(one), hashOf(other)],
      );
    await move('wrapped_key = source.wrapped_key');
    await expectRequired(other.request('get', '/notes'));
    await service.database.query('UPDATE key_sessions SET workspace_id = $1 WHERE token_hash = $2', [
      other.workspace.id,
      hashOf(one),
    ]);
    await expectRequired(other.with(one.keySession).request('get', '/notes'));
  });
});

describe('key sessions while the service is read-only', () => {
  it('can still read, but cannot be opened, ended or used to write', async () => {
    const one = await newVault();
    await one.create('a.md', 'text').expect(201);
    const killSwitch = service.app.get(KillSwitch, { strict: false });
    await killSwitch.set('read-only');
    await killSwitch.look();
    for (const request of [
      one.openSession({ key: one.masterKey.toString('base64') }),
      one.endSession(),
      one.create('b.md', 'x'),
      one.update('a.md', 'x'),
      one.remove('a.md'),
      one.restore('a.md', one.workspace.id),
      one.request('post', '/checkpoints').send({ label: 'x' }),
    ])
      expect((await request.expect(503)).headers['retry-after']).toBeDefined();
    for (let use = 0; use < 2; use++) {
      service.clock.advance(14 * MINUTE);
      expect((await one.read('a.md').expect(200)).body).toMatchObject({ content: 'text', version: 1 });
    }
    expect(await one.found('text')).toEqual(['a.md']);
    await one.history('a.md').expect(200);
    await killSwitch.set('off');
    await killSwitch.look();
    await one.endSession().expect(200);
  });
});

describe('ten attempts a minute', () => {
  it('are allowed for each workspace, right or wrong, on all instances together', async () => {
    const env = { RATE_LIMIT_PER_MINUTE: '1000' };
    const limited = await startService({ beside: service, env });
    const another = await startService({ beside: service, env });
    service.clock.stopAt(service.clock.now()); // all within one minute
    const one = (await newVault()).with('', alice.at(limited.url));
    const other = (await newVault()).with('', alice.at(limited.url));
    const key = one.masterKey.toString('base64');
    const statuses: number[] = [];
    for (let tries = 0; tries < 5; tries++) {
      statuses.push((await one.openSession({ key: Buffer.alloc(32).toString('base64') })).status);
      statuses.push((await one.openSession({ key }, alice.at(another.url))).status);
    }
    expect(statuses).toEqual([403, 201, 403, 201, 403, 201, 403, 201, 403, 201]);
    const refused = await one.openSession({ key }).expect(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    await one.openSession({ key }, alice.at(another.url)).expect(429);
    await other.openSession({ key: other.masterKey.toString('base64') }).expect(201);
    service.clock.advance(MINUTE);
    await one.openSession({ key }).expect(201);
    service.clock.resume();
    await another.close();
    await limited.close();
  });
});

describe('the log', () => {
  it('contains no password, key, token, path or text', async () => {
    const one = await newVault();
    await one.create('secret-path-9f2c.md', 'secret-text-9f2c').expect(201);
    await one.update('secret-path-9f2c.md', 'secret-text-9f2c!').expect(200);
    await one.search('secret-text-9f2c').expect(200);
    await one.openSession({ password: 'secret-password-9f2c' }).expect(403);
    await one.request('get', '/history/secret-path-9f2c.md?version=x').expect(404);
    await one.request('get', '/notes?prefix=secret-path-9f2c').expect(200);
    await one.request('delete', '/history/secret-path-9f2c').expect(404); // no such route
    await alice.get(`${one.path}/notes/secret-path-9f2c`).expect(401);
    await alice.at(alice.url, 'x').get(`${one.path}/notes/secret-path-9f2c`).expect(401);
    for (const path of [
      `/api/v1/%61utomation/workspaces/${one.workspace.id}/notes/secret-path-9f2c`,
      '//api/v1/automation/secret-',
      '/api/v1/%61utomation/workspaces/x/secret-',
    ])
      await sendRaw(service.url, {
        method: 'GET',
        path,
        headers: { Authorization: `Bearer ${alice.token}` },
      });
    const killSwitch = service.app.get(KillSwitch, { strict: false });
    await killSwitch.set('down');
    await killSwitch.look();
    await one.read('secret-path-9f2c.md').expect(503);
    await killSwitch.set('off');
    await killSwitch.look();
    await withoutTable('blobs', () => one.read('secret-path-9f2c.md').expect(500));
    await withoutTable('versions', async () => {
      await one.update('secret-path-9f2c.md', 'secret-text-9f2c').expect(500);
      await one.create('secret-path-9f2c.txt', 'secret-text-9f2c').expect(500);
      await one.restore('secret-path-9f2c.md', one.workspace.id).expect(500);
    });
    await withoutTable('checkpoints', () =>
      one.request('post', '/checkpoints').send({ label: 'secret-label' }).expect(500),
    );
    await withoutTable('changes', () => one.search('secret-text-9f2c').expect(500));
    await withoutTable('key_sessions', () =>
      one.openSession({ key: one.masterKey.toString('base64') }).expect(500),
    );
    const logged = service.logged() + second.logged();
    expect(logged).toContain(`${one.path}/notes/*`);
    for (const secret of [
      one.keySession,
      one.masterKey.toString('base64'),
      one.masterKey.toString('hex'),
      vault.keySession,
      PASSWORD,
      'secret-',
    ])
      expect(logged).not.toContain(secret);
  });
});

/** Runs work while statements that name the table fail. */
async function withoutTable(name: string, work: () => PromiseLike<unknown>): Promise<void> {
  await service.database.query(`ALTER TABLE ${name} RENAME TO away`);
  try {
    await work();
  } finally {
    await service.database.query(`ALTER TABLE away RENAME TO ${name}`);
  }
}

function hashOf({ keySession }: TestVault): Buffer {
  return Buffer.from(sha256(keySession), 'hex');
}

async function rowsOf(one: TestVault): Promise<number> {
  return (await service.database.query('SELECT 1 FROM key_sessions WHERE token_hash = $1', [hashOf(one)]))
    .length;
}
