import { randomUUID } from 'node:crypto';
import pg from 'pg';
import supertest from 'supertest';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { envelope, TestAssets } from '../../kit/assets.js';
import { TestVault } from '../../kit/automation.js';
import { changedTables, checksums } from '../../kit/checksums.js';
import {
  begunRequest,
  eventually,
  sha256,
  startService,
  type TestService,
  type TestUser,
  TestWorkspace,
} from '../../kit/index.js';
import { itDeep } from '../../kit/rounds.js';

const TOKENS = '/api/v1/auth/tokens';
const PAT = /^pat_[A-Za-z0-9_-]{43}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const EVERY_SCOPE = [
  'full',
  'documents:read',
  'documents:write',
  'agent:invoke',
  'assets:read',
  'assets:write',
];
const UNAUTHORIZED = '{"error":"a valid bearer token is required"}';
const MINUTE_MS = 60_000;

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

interface Minted {
  readonly id: string;
  readonly token: string;
  readonly created_at: string;
}

function mint(user: TestUser, body: unknown): supertest.Test {
  return user.post(TOKENS).send(body as object);
}

async function minted(user: TestUser, body: object = {}): Promise<Minted> {
  return (await mint(user, { name: 'cli', ...body }).expect(201)).body;
}

/** The user as one of their tokens. */
async function holder(user: TestUser, body: object = {}): Promise<TestUser> {
  return user.at(user.url, (await minted(user, body)).token);
}

async function listed(user: TestUser): Promise<Record<string, unknown>[]> {
  return (await user.get(TOKENS).expect(200)).body.tokens;
}

function me(user: TestUser): supertest.Test {
  return user.get('/api/v1/auth/me');
}

function fromNow(ms: number): string {
  return new Date(service.clock.now().getTime() + ms).toISOString();
}

/** Expects a 400 with only an error, and no new token. */
async function expectRefused(user: TestUser, body: unknown): Promise<void> {
  const before = await listed(user);
  const answer = await mint(user, body);
  expect({ status: answer.status, body: answer.body }).toEqual({
    status: 400,
    body: { error: expect.any(String) },
  });
  expect(await listed(user)).toEqual(before);
}

/** Where in the database, in any table, a string occurs. */
async function placesOf(text: string): Promise<string[]> {
  const tables = await service.database.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`,
  );
  const searches = tables.map(
    ({ name }) => `SELECT '${name}' AS name FROM ${name} t WHERE strpos(to_jsonb(t)::text, $1) > 0`,
  );
  const found = await service.database.query<{ name: string }>(searches.join(' UNION ALL '), [text]);
  return found.map(({ name }) => name);
}

describe('POST /api/v1/auth/tokens', () => {
  it('returns the token and its metadata, and nothing else', async () => {
    const alice = await service.user('mint-alice');
    service.clock.stopAt(new Date('2026-05-01T10:00:00.123Z'));
    try {
      const { body } = await mint(alice, { name: '  My laptop ' });
      expect(body).toEqual({
        id: expect.stringMatching(UUID),
        name: 'My laptop',
        token: expect.stringMatching(PAT),
        created_at: '2026-05-01T10:00:00.123Z',
        last_used_at: null,
        expires_at: null,
        revoked_at: null,
        scopes: ['full'],
        workspace_id: null,
      });
    } finally {
      service.clock.resume();
    }
  });

  it('returns the requested scopes, expiry and workspace', async () => {
    const alice = await service.user('mint-everything');
    const workspace = await alice.workspace();
    const expiresAt = fromNow(MINUTE_MS);
    const asked = {
      name: 'x',
      scopes: ['documents:read', 'assets:write'],
      expiresAt,
      workspaceId: workspace.id,
    };
    const { body } = await mint(alice, asked).expect(201);
    expect(body).toMatchObject({ scopes: asked.scopes, expires_at: expiresAt, workspace_id: workspace.id });
  });

  it.each([
    ['scope', ['documents:read']],
    ['Scopes', ['documents:read']],
    ['workspace_id', randomUUID()],
    ['workspace', randomUUID()],
    ['expires_at', '2099-01-01T00:00:00Z'],
    ['expiresIn', 60],
    ['id', randomUUID()],
  ])(
    'is 400 for the unknown member %s and names it, so that no misspelt restriction is lost',
    async (member, value) => {
      const user = await service.user('misspelt');
      const { body } = await mint(user, { name: 'x', [member]: value }).expect(400);
      expect(body).toEqual({ error: `unknown member "${member}"` });
      expect(await listed(user)).toEqual([]);
    },
  );

  it('shortens the name of an unknown member in the error', async () => {
    const user = await service.user('misspelt-long');
    const { body } = await mint(user, { name: 'x', ['\u{1F511}'.repeat(5_000)]: 1 }).expect(400);
    expect(body.error.length).toBeLessThan(100);
  });

  it('creates a different token for each request', async () => {
    const alice = await service.user('mint-many');
    const all = await Promise.all(Array.from({ length: 20 }, () => minted(alice)));
    expect(new Set(all.map(({ token }) => token)).size).toBe(20);
    expect(new Set(all.map(({ id }) => id)).size).toBe(20);
  });

  it('is answered with Cache-Control: no-store', async () => {
    const { headers } = await mint(await service.user('mint-uncached'), { name: 'x' }).expect(201);
    expect(headers['cache-control']).toBe('no-store');
  });

  it('needs no subscription', async () => {
    const free = await service.newcomer('mint-free');
    await me(await holder(free)).expect(200);
  });
});

describe('the name of a token', () => {
  it.each([
    ['one character', 'x', 'x'],
    ['255 characters', 'x'.repeat(255), 'x'.repeat(255)],
    ['255 characters between blanks', ` \t${'x'.repeat(255)}\u00a0\n`, 'x'.repeat(255)],
    ['255 characters beyond the basic plane', '🔑'.repeat(255), '🔑'.repeat(255)],
    ['an emoji of several characters', '👩‍👩‍👧‍👦', '👩‍👩‍👧‍👦'],
    ['markup and SQL', `<b>'); DROP TABLE users;--`, `<b>'); DROP TABLE users;--`],
  ])('may be %s', async (what, sent, kept) => {
    const alice = await service.user(`name-${sha256(what).slice(0, 20)}`);
    expect((await mint(alice, { name: sent }).expect(201)).body.name).toBe(kept);
    expect(await listed(alice)).toEqual([expect.objectContaining({ name: kept })]);
  });

  it.each([
    ['missing', {}],
    ['null', { name: null }],
    ['empty', { name: '' }],
    ['blank', { name: ' \t\n ' }],
    ['256 characters', { name: 'x'.repeat(256) }],
    ['256 characters beyond the basic plane', { name: '🔑'.repeat(256) }],
    ['more than 255 characters with variation selectors', { name: '❤\ufe0f'.repeat(200) }],
    ['half a surrogate pair', { name: 'a\ud83db' }],
    ['text with NUL', { name: 'a\u0000b' }],
    ['text with a line feed', { name: 'a\nb' }],
    ['text with an escape sequence', { name: 'a\u001b[2Jb' }],
    ['a number', { name: 7 }],
    ['a list', { name: ['cli'] }],
    ['an object', { name: { toString: 'cli' } }],
  ])('must not be %s', async (_, body) => expectRefused(await service.user('name-refused'), body));
});

describe('expiresAt', () => {
  it.each([
    ['a time with milliseconds', '2031-02-03T04:05:06.789Z', '2031-02-03T04:05:06.789Z'],
    ['a time with seconds', '2031-02-03T04:05:06Z', '2031-02-03T04:05:06.000Z'],
    ['a time with minutes', '2031-02-03T04:05Z', '2031-02-03T04:05:00.000Z'],
    ['a time with microseconds', '2031-02-03T04:05:06.789999Z', '2031-02-03T04:05:06.789Z'],
    ['a time ahead of UTC', '2031-02-03T04:05:06+05:30', '2031-02-02T22:35:06.000Z'],
    ['a time behind UTC', '2031-02-03T04:05:06-0800', '2031-02-03T12:05:06.000Z'],
    ['a time without a zone, which means UTC', '2031-02-03T04:05:06', '2031-02-03T04:05:06.000Z'],
    ['a date, which means midnight UTC', '2031-02-03', '2031-02-03T00:00:00.000Z'],
    ['a leap day', '2032-02-29T00:00:00Z', '2032-02-29T00:00:00.000Z'],
    ['a time in the year 9999', '9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['null, which means no expiry', null, null],
  ])('may be %s', async (_, expiresAt, kept) => {
    const alice = await service.user('expiry-accepted');
    const { body } = await mint(alice, { name: 'x', expiresAt }).expect(201);
    expect(body.expires_at).toBe(kept);
  });

  it.each([
    ['empty', ''],
    ['no time', 'tomorrow'],
    ['a number', 4_102_444_800_000],
    ['a number in text', '4102444800000'],
    ['a time in words', 'Tue, 03 Feb 2032 04:05:06 GMT'],
    ['a time with a blank instead of the T', '2031-02-03 04:05:06Z'],
    ['a year', '2031'],
    ['a month', '2031-02'],
    ['a week', '2031-W05-1'],
    ['a day of the year', '2031-034'],
    ['a day of the year that would read as a month', '2031-012'],
    ['a time without hyphens', '20310203T040506Z'],
    ['a day without hyphens', '20310203'],
    ['a signed year', '+2031-02-03'],
    ['a year before the common era', '-2031-02-03'],
    ['a year of six digits', '+012031-02-03T04:05:06Z'],
    ['a day that is not in the calendar', '2031-02-30T00:00:00Z'],
    ['a leap day of another year', '2031-02-29'],
    ['a 13th month', '2031-13-01T00:00:00Z'],
    ['a 25th hour', '2031-02-03T25:00:00Z'],
    ['a 61st minute', '2031-02-03T04:61:00Z'],
    ['a time with a lowercase t', '2031-02-03t04:05:06Z'],
    ['an hour alone', '2031-02-03T04Z'],
    ['a zone of 25 hours', '2031-02-03T04:05:06+25:00'],
    ['a zone of hours alone', '2031-02-03T04:05:06-08'],
    ['a zone by name', '2031-02-03T04:05:06 UTC'],
    ['a time with trailing text', '2031-02-03T04:05:06Z; DROP'],
    ['a time with a trailing line feed', '2031-02-03T04:05:06Z\n'],
    ['a list', ['2031-02-03T04:05:06Z']],
    ['an object', {}],
    ['true', true],
    ['a past time', '2001-02-03T04:05:06Z'],
    ['the epoch', '1970-01-01T00:00:00Z'],
  ])('must not be %s', async (_, expiresAt) =>
    expectRefused(await service.user('expiry-refused'), { name: 'x', expiresAt }),
  );

  it('must be in the future, by at least a millisecond', async () => {
    const alice = await service.user('expiry-edge');
    service.clock.stopAt(service.clock.now());
    try {
      await expectRefused(alice, { name: 'x', expiresAt: fromNow(-1) });
      await expectRefused(alice, { name: 'x', expiresAt: fromNow(0) });
      await mint(alice, { name: 'x', expiresAt: fromNow(1) }).expect(201);
    } finally {
      service.clock.resume();
    }
  });
});

describe('the scopes of a token', () => {
  it.each([
    ['omitted', undefined, ['full']],
    ['null', null, ['full']],
    ...EVERY_SCOPE.map((scope): [string, string[], string[]] => [`${scope} alone`, [scope], [scope]]),
    ['all of them', EVERY_SCOPE, EVERY_SCOPE],
    ['one twice, kept once', ['assets:read', 'full', 'assets:read'], ['assets:read', 'full']],
  ])('may be %s', async (_, scopes, kept) => {
    const alice = await service.user('scopes-accepted');
    const { body } = await mint(alice, { name: 'x', scopes }).expect(201);
    expect(body.scopes).toEqual(kept);
    expect((await listed(alice)).find(({ id }) => id === body.id)).toMatchObject({ scopes: kept });
  });

  it.each([
    ['an empty list', []],
    ['text', 'full'],
    ['an object', { 0: 'full', length: 1 }],
    ['a number', 7],
    ['true', true],
    ['an unknown scope', ['documents']],
    ['an unknown scope among known ones', ['full', 'documents:delete']],
    ['a scope in capitals', ['FULL']],
    ['a scope between blanks', [' full']],
    ['several scopes in one text', ['documents:read documents:write']],
    ['a wildcard', ['*']],
    ['an empty text', ['']],
    ['null in a list', [null]],
    ['a list in a list', [['full']]],
    ['the name of a method', ['toString']],
  ])('must not be %s', async (_, scopes) =>
    expectRefused(await service.user('scopes-refused'), { name: 'x', scopes }),
  );
});

describe('the workspace of a token', () => {
  it('may be written in capitals', async () => {
    const alice = await service.user('bind-capitals');
    const workspace = await alice.workspace();
    const { body } = await mint(alice, { name: 'x', workspaceId: workspace.id.toUpperCase() }).expect(201);
    expect(body.workspace_id).toBe(workspace.id);
    await alice.at(service.url, body.token).get(workspace.path).expect(200);
  });

  it.each([
    ['empty', ''],
    ['no uuid', 'notes'],
    ['a uuid and more', `${randomUUID()}x`],
    ['a uuid in braces', `{${randomUUID()}}`],
    ['a uuid without hyphens', randomUUID().replaceAll('-', '')],
    ['a number', 7],
    ['a list', [randomUUID()]],
    ['an object', {}],
    ['false', false],
  ])('is 400 when it is %s', async (_, workspaceId) =>
    expectRefused(await service.user('bind-malformed'), { name: 'x', workspaceId }),
  );

  it('is refused with the same 404 when it belongs to another user, is deleted or unknown', async () => {
    const alice = await service.user('bind-alice');
    const foreign = await (await service.user('bind-bob')).workspace();
    const deleted = await alice.workspace();
    await alice.delete(deleted.path).expect(200);

    const answers = [];
    for (const workspaceId of [
      foreign.id,
      deleted.id,
      randomUUID(),
      '00000000-0000-0000-0000-000000000000',
    ]) {
      answers.push(await mint(alice, { name: 'x', workspaceId }).expect(404));
    }
    expect(new Set(answers.map(({ text }) => text))).toEqual(new Set(['{"error":"workspace not found"}']));
    expect(new Set(answers.map(({ headers }) => Object.keys(headers).sort().join()))).toHaveProperty(
      'size',
      1,
    );
    expect(await listed(alice)).toEqual([]);
  });
});

describe('POST tokens for a workspace that is being deleted', () => {
  it('is 404 and creates no token', async () => {
    const alice = await service.user('bind-race');
    const workspace = await alice.workspace();
    const purge = new pg.Client(service.database.url);
    await purge.connect();
    try {
      await purge.query('BEGIN');
      await purge.query('DELETE FROM workspaces WHERE id = $1', [workspace.id]);
      const [answer] = await Promise.all([
        mint(alice, { name: 'x', workspaceId: workspace.id }),
        eventually(async () => {
          expect(await waiting()).toHaveLength(1);
          await purge.query('COMMIT');
        }),
      ]);
      expect({ status: answer.status, text: answer.text }).toEqual({
        status: 404,
        text: '{"error":"workspace not found"}',
      });
    } finally {
      await purge.end();
    }
    expect(await listed(alice)).toEqual([]);
  });

  function waiting(): Promise<unknown[]> {
    return service.database.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
  }
});

describe('a malformed body', () => {
  it.each([
    ['broken JSON', '{"name":'],
    ['a list', '[{"name":"x"}]'],
    ['null', 'null'],
    ['a text', '"x"'],
    ['nothing', ''],
  ])('is 400: %s', async (_, body) => {
    const alice = await service.user('no-body');
    await alice.post(TOKENS).set('Content-Type', 'application/json').send(body).expect(400);
    expect(await listed(alice)).toEqual([]);
  });
});

describe('a raw token', () => {
  it('is shown once: no other response and no log line contains it', async () => {
    const own = await startService();
    try {
      const alice = await own.user('alice');
      const { id, token } = await minted(alice);
      const holding = alice.at(own.url, token);
      const answers = [
        await alice.get(TOKENS).expect(200),
        await me(holding).expect(200),
        await holding.get(TOKENS).expect(403),
        await holding.get(`/api/v1/workspaces/${token}`).expect(404),
        await mint(alice, { name: 'x', expiresAt: token }).expect(400),
        await mint(alice, { name: 'x', scopes: [token] }).expect(400),
        await alice.delete(`${TOKENS}/${id}`).expect(200),
        await me(holding).expect(401),
      ];
      await supertest(own.url).get(`/api/v1/auth/me?token=${token}`).expect(401);
      expect(answers.map(({ text }) => text).join()).not.toContain(token.slice(4));
      expect(own.logged().split(`/api/v1/workspaces/${token}`).join('')).not.toContain(token.slice(4));
    } finally {
      await own.close();
    }
  });

  it('is stored only as its SHA-256, in no table as text or bytes', async () => {
    const alice = await service.user('hashed');
    const { id, token } = await minted(alice, { scopes: ['documents:read'] });
    await me(alice.at(service.url, token)).expect(200);
    const body = token.slice(4);
    const hex = (text: string, encoding?: BufferEncoding): string =>
      Buffer.from(text, encoding).toString('hex');

    for (const secret of [token, body, hex(token), hex(body), hex(body, 'base64url')]) {
      expect(await placesOf(secret)).toEqual([]);
    }
    expect(await placesOf(sha256(token))).toEqual(['access_tokens']);
    const rows = await service.database.query(
      `SELECT id FROM access_tokens WHERE token_hash = sha256($1::bytea)`,
      [token],
    );
    expect(rows).toEqual([{ id }]);
  });

  it('is refused when a character is changed, added or missing, and so is its hash', async () => {
    const alice = await service.user('guesser');
    const { token } = await minted(alice);
    const changed = token.slice(0, -2) + (token.at(-2) === 'A' ? 'B' : 'A') + token.at(-1)!;
    const guesses = [
      ...[
        changed,
        `${token}A`,
        token.slice(0, -1),
        token.slice(4),
        token.toUpperCase(),
        `PAT_${token.slice(4)}`,
      ],
      ...[
        `pat_${sha256(token)}`,
        sha256(token),
        `${token}=`,
        `${token}.`,
        `${token},${token}`,
        'pat_',
        'pat_%',
      ],
    ];
    for (const guess of guesses) {
      const answer = await me(alice.at(service.url, guess)).expect(401);
      expect(answer.text).toBe(UNAUTHORIZED);
    }
    await me(alice.at(service.url, token)).expect(200);
  });
});

describe('GET /api/v1/auth/tokens', () => {
  it('lists the caller’s tokens without values, newest first, also revoked and expired ones', async () => {
    const own = await startService();
    try {
      own.clock.stopAt(new Date('2026-05-01T10:00:00.000Z'));
      const alice = await own.user('alice');
      await minted(await own.user('bob'), { name: 'of bob' });
      const workspace = await alice.workspace();
      const first = await minted(alice, { name: 'first', expiresAt: '2026-05-01T10:00:30.000Z' });
      const second = await minted(alice, { name: 'second', scopes: ['assets:read', 'documents:read'] });
      own.clock.stopAt(new Date('2026-05-01T10:01:00.000Z'));
      const third = await minted(alice, { name: 'third', workspaceId: workspace.id });
      await alice.delete(`${TOKENS}/${second.id}`).expect(200);
      await me(alice.at(own.url, third.token)).expect(200);

      const common = {
        last_used_at: null,
        expires_at: null,
        revoked_at: null,
        scopes: ['full'],
        workspace_id: null,
      };
      const [early, late] = ['2026-05-01T10:00:00.000Z', '2026-05-01T10:01:00.000Z'];
      expect((await alice.get(TOKENS).expect(200)).body).toEqual({
        tokens: [
          {
            ...{ ...common, id: third.id, name: 'third', created_at: late, last_used_at: late },
            workspace_id: workspace.id,
          },
          {
            ...{ ...common, id: second.id, name: 'second', created_at: early, revoked_at: late },
            scopes: ['assets:read', 'documents:read'],
          },
          {
            ...common,
            id: first.id,
            name: 'first',
            created_at: early,
            expires_at: '2026-05-01T10:00:30.000Z',
          },
        ],
      });
    } finally {
      await own.close();
    }
  });

  it('returns an empty list to a new user', async () => {
    expect(await listed(await service.newcomer('list-newcomer'))).toEqual([]);
  });
});

describe('DELETE /api/v1/auth/tokens/:id', () => {
  it('revokes the token; a repeat changes neither the response nor revoked_at', async () => {
    const alice = await service.user('revoke-alice');
    const { id, token } = await minted(alice);
    service.clock.stopAt(service.clock.now());
    try {
      const revokedAt = fromNow(0);
      expect((await alice.delete(`${TOKENS}/${id}`).expect(200)).body).toEqual({ ok: true });
      service.clock.advance(5_000);
      expect((await alice.delete(`${TOKENS}/${id.toUpperCase()}`).expect(200)).body).toEqual({ ok: true });
      expect(await listed(alice)).toEqual([expect.objectContaining({ id, revoked_at: revokedAt })]);
      await me(alice.at(service.url, token)).expect(401);
    } finally {
      service.clock.resume();
    }
  });

  it('is the same 404 for the token of another user, an unknown id and a malformed id', async () => {
    const alice = await service.user('revoke-owner');
    const mallory = await service.user('revoke-stranger');
    const { id, token } = await minted(alice);
    const ids = [
      id,
      randomUUID(),
      '00000000-0000-0000-0000-000000000000',
      'x',
      `${id}x`,
      `${id}%00`,
      `'--`,
      '%F0%9F%94%91',
    ];
    const answers = [];
    for (const one of ids) answers.push(await mallory.delete(`${TOKENS}/${one}`).expect(404));
    expect(new Set(answers.map(({ text }) => text))).toEqual(new Set(['{"error":"token not found"}']));
    expect(new Set(answers.map(({ headers }) => Object.keys(headers).sort().join()))).toHaveProperty(
      'size',
      1,
    );
    await me(alice.at(service.url, token)).expect(200);
    expect(await listed(alice)).toEqual([expect.objectContaining({ id, revoked_at: null })]);
  });

  it('revokes no other token', async () => {
    const alice = await service.user('revoke-one');
    const [one, other] = [await minted(alice), await minted(alice)];
    await alice.delete(`${TOKENS}/${one.id}`).expect(200);
    await me(alice.at(service.url, one.token)).expect(401);
    await me(alice.at(service.url, other.token)).expect(200);
  });

  it('takes effect on another instance with the next request', async () => {
    const other = await startService({ beside: service });
    try {
      const alice = await service.user('revoke-elsewhere');
      for (let round = 0; round < 10; round++) {
        const { id, token } = await minted(alice);
        await Promise.all(Array.from({ length: 4 }, () => me(alice.at(other.url, token)).expect(200)));
        await alice.delete(`${TOKENS}/${id}`).expect(200);
        const refused = await me(alice.at(other.url, token)).expect(401);
        expect(refused.text).toBe(UNAUTHORIZED);
      }
    } finally {
      await other.close();
    }
  });
});

describe('a token while a request body arrives', () => {
  let other: TestService;
  beforeAll(async () => (other = await startService({ beside: service })));
  afterAll(() => other.close());

  const json = (request: supertest.Test): supertest.Test => request.type('json');
  const put = ({ user, path }: TestWorkspace, body: string): supertest.Test =>
    user.put(`${path}/files/late`).set({
      'Content-Type': 'application/octet-stream',
      'X-Device-Id': 'd',
      'X-Content-Hash': sha256(body),
    });
  const small = 'x'.repeat(100);
  const large = 'x'.repeat(100_000);
  const asset = JSON.stringify({ encryptedFilename: 'late', data: envelope().toString('base64') });
  const note = JSON.stringify({ path: 'late.md', content: 'text' });

  it.each<[string, string, (vault: TestVault) => supertest.Test]>([
    ['a small file', small, ({ workspace }) => put(workspace, small)],
    ['a large file', large, ({ workspace }) => put(workspace, large)],
    ['an asset', asset, ({ workspace }) => json(TestAssets.of(workspace).request('post'))],
    ['a note', note, (vault) => json(vault.request('post', '/notes'))],
    ['a workspace', '{"name":"late"}', ({ workspace }) => json(workspace.user.post('/api/v1/workspaces'))],
  ])('is refused with 401 and writes nothing once revoked elsewhere: %s', async (_, body, requestOf) => {
    const alice = await service.user('revoke-in-mid-body');
    const vault = await TestVault.setUp(await alice.workspace());
    const { id, token } = await minted(alice);
    const finish = await begunRequest(
      other,
      requestOf(vault.with(vault.keySession, alice.at(other.url, token))),
      body,
    );
    const before = await checksums(service.database);
    await alice.delete(`${TOKENS}/${id}`).expect(200);
    service.clock.advance(3_000);
    const refused = await finish();
    expect([refused.status, refused.text]).toEqual([401, UNAUTHORIZED]);
    // A blob may be staged and discarded.
    const changed = changedTables(before, await checksums(service.database));
    expect(changed.filter((table) => table !== 'blobs')).toEqual(['access_tokens', 'audit_events']);
  });

  it('completes the upload after five minutes when it is still valid', async () => {
    const alice = await service.user('kept-in-mid-body');
    const workspace = (await alice.workspace()).as(alice.at(other.url, (await minted(alice)).token));
    const finish = await begunRequest(other, put(workspace, large), large);
    service.clock.advance(5 * MINUTE_MS);
    expect((await finish()).status).toBe(201);
  });
});

describe('a token that expires', () => {
  it('works until the millisecond before, and is refused like an unknown token from then on', async () => {
    const alice = await service.user('expiring');
    const now = service.clock.now();
    service.clock.stopAt(now);
    try {
      const end = now.getTime() + 10 * MINUTE_MS;
      const { id, token } = await minted(alice, { expiresAt: new Date(end).toISOString() });
      const holding = alice.at(service.url, token);
      service.clock.stopAt(new Date(end - 1));
      await me(holding).expect(200);
      for (const ms of [end, end + 1, end + 365 * 24 * 60 * MINUTE_MS]) {
        service.clock.stopAt(new Date(ms));
        const refused = await me(holding).expect(401);
        expect(refused.text).toBe(UNAUTHORIZED);
        expect(refused.headers['www-authenticate']).toBe('Bearer');
      }
      service.clock.stopAt(now);
      expect(await listed(alice)).toEqual([expect.objectContaining({ id, revoked_at: null })]);
    } finally {
      service.clock.resume();
    }
  });
});

describe('last_used_at', () => {
  /** A trigger records every update of a token's row. */
  beforeAll(async () => {
    await service.database.query(`
      CREATE TABLE noted (token_id uuid);
      CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO noted VALUES (NEW.id); RETURN NULL; END $$;
      CREATE TRIGGER note AFTER UPDATE ON access_tokens FOR EACH ROW EXECUTE FUNCTION note()`);
  });
  afterEach(() => service.clock.resume());

  async function writesOf(id: string): Promise<number> {
    return (await service.database.query('SELECT FROM noted WHERE token_id = $1', [id])).length;
  }

  itDeep('is written at most once a minute by 50 concurrent requests over two instances', async () => {
    const other = await startService({ beside: service });
    try {
      const alice = await service.user('used');
      const { id, token } = await minted(alice);
      const crowd = async (): Promise<void> => {
        const urls = Array.from({ length: 50 }, (_, n) => (n % 2 ? service.url : other.url));
        await Promise.all(urls.map((url) => me(alice.at(url, token)).expect(200)));
      };
      const start = new Date(service.clock.now().getTime() + 1_000);
      for (const [afterMs, writes, usedMs] of [
        [0, 1, 0],
        [1, 1, 0],
        [MINUTE_MS - 1, 1, 0],
        [MINUTE_MS, 2, MINUTE_MS],
        [2 * MINUTE_MS - 1, 2, MINUTE_MS],
        [7 * MINUTE_MS, 3, 7 * MINUTE_MS],
      ] as const) {
        service.clock.stopAt(new Date(start.getTime() + afterMs));
        await crowd();
        expect(await writesOf(id)).toBe(writes);
        const [row] = await listed(alice);
        expect(row).toMatchObject({ last_used_at: new Date(start.getTime() + usedMs).toISOString() });
      }
    } finally {
      await other.close();
    }
  });

  it('is not written for a token that is refused', async () => {
    const alice = await service.user('unused');
    const revoked = await minted(alice);
    await alice.delete(`${TOKENS}/${revoked.id}`).expect(200);
    await me(alice.at(service.url, revoked.token)).expect(401);
    expect(await writesOf(revoked.id)).toBe(1); // the revocation
    expect(await listed(alice)).toEqual([expect.objectContaining({ last_used_at: null })]);
  });
});

describe('a token bound to a workspace', () => {
  /** A valid request to each kind of workspace route. */
  const WAYS: [string, (workspace: TestWorkspace) => supertest.Test][] = [
    ['detail', ({ user, path }) => user.get(path)],
    ['files', ({ user, path }) => user.get(`${path}/files`)],
    ['download', ({ user, path }) => user.get(`${path}/files/YQ`)],
    ['upload', (workspace) => workspace.put('Yg', 'b')],
    ['delete a file', (workspace) => workspace.delete('YQ')],
    ['status', ({ user, path }) => user.get(`${path}/sync/status`)],
    ['snapshot', (workspace) => workspace.snapshot()],
    ['pull', (workspace) => workspace.pull(0)],
    ['push', (workspace) => workspace.push(0, ['YQ'])],
    ['delete the workspace', ({ user, path }) => user.delete(path)],
  ];

  it('lists only that workspace, with scope full and with documents:read', async () => {
    const alice = await service.user('bound-list');
    const [one] = [await alice.workspace('one'), await alice.workspace('two')];
    for (const scopes of [['full'], ['documents:read']]) {
      const bound = await holder(alice, { workspaceId: one.id, scopes });
      const { body } = await bound.get('/api/v1/workspaces').expect(200);
      expect(body.workspaces).toEqual([expect.objectContaining({ id: one.id, name: 'one' })]);
    }
    expect((await alice.get('/api/v1/workspaces').expect(200)).body.workspaces).toHaveLength(2);
  });

  it.each(WAYS)(
    'is refused with the same 404 for another workspace of its user as for an unknown one: %s',
    async (name, way) => {
      const alice = await service.user(`bound-${name.replaceAll(' ', '-')}`);
      const [here, there] = [await alice.workspace(), await alice.workspace()];
      await here.put('YQ', 'a').expect(201);
      await there.put('YQ', 'a').expect(201);
      const bound = await holder(alice, { workspaceId: here.id });

      const other = await way(there.as(bound));
      const unknown = await way(new TestWorkspace(bound, randomUUID()));
      expect(other.status).toBe(404);
      expect(other.text).toBe('{"error":"workspace not found"}');
      expect(unknown.text).toBe(other.text);
      expect(unknown.status).toBe(404);
      expect((await there.get('YQ').expect(200)).body).toEqual(Buffer.from('a'));
      const { status } = await way(here.as(bound));
      expect([200, 201]).toContain(status);
    },
  );

  it('is refused with 403 when it creates a workspace, even with scope full', async () => {
    const alice = await service.user('bound-creator');
    const workspace = await alice.workspace();
    const bound = await holder(alice, { workspaceId: workspace.id });
    const { body } = await bound.post('/api/v1/workspaces').send({ name: 'x' }).expect(403);
    expect(body).toEqual({ error: expect.any(String) });
    expect((await alice.get('/api/v1/workspaces').expect(200)).body.workspaces).toHaveLength(1);
  });

  it('is refused once the workspace is deleted, and no longer listed', async () => {
    const alice = await service.user('bound-orphan');
    const workspace = await alice.workspace();
    const other = await alice.workspace();
    const bound = await holder(alice, { workspaceId: workspace.id });
    await alice.delete(workspace.path).expect(200);

    for (const path of [workspace.path, other.path, `${other.path}/files`]) {
      expect([401, 404]).toContain((await bound.get(path)).status); // 401 as soon as it is purged
    }
    await service.app.get(WorkspacePurge).idle();
    await me(bound).expect(401);
    await bound.get('/api/v1/workspaces').expect(401);
    expect(await listed(alice)).toEqual([]);
    await alice.get(other.path).expect(200);
  });

  it('may delete its workspace, and no longer works afterwards', async () => {
    const alice = await service.user('bound-suicide');
    const workspace = await alice.workspace();
    const bound = await holder(alice, { workspaceId: workspace.id });
    await bound.delete(workspace.path).expect(200);
    await service.app.get(WorkspacePurge).idle();
    await me(bound).expect(401);
  });
});

describe('token management by an access token', () => {
  it.each([['full'], ['documents:read'], ['agent:invoke'], ['assets:write']])(
    'is refused with 403, even for the token itself: %s',
    async (scope) => {
      const alice = await service.user(`managing-${scope.replace(':', '-')}`);
      const { id, token } = await minted(alice, { scopes: [scope] });
      const before = await listed(alice);
      const holding = alice.at(service.url, token);
      for (const request of [
        holding.get(TOKENS),
        mint(holding, { name: 'offspring' }),
        mint(holding, { name: '' }),
        holding.delete(`${TOKENS}/${id}`),
        holding.delete(`${TOKENS}/${randomUUID()}`),
        holding.delete(`${TOKENS}/x`),
      ]) {
        const { status, body } = await request;
        expect({ status, body }).toEqual({
          status: 403,
          body: { error: 'an interactive session is required' },
        });
      }
      const after = await listed(alice);
      const use = { last_used_at: expect.any(String) }; // refused requests count as use
      expect(after).toEqual(before.map((token) => ({ ...token, ...use })));
    },
  );
});

describe('POST tokens with rate limits', () => {
  let one: TestService;
  let two: TestService;
  beforeAll(async () => {
    one = await startService({ env: { RATE_LIMIT_PER_MINUTE: '1200' } });
    two = await startService({ env: { RATE_LIMIT_PER_MINUTE: '1200' }, beside: one });
  });
  afterAll(async () => {
    await two.close();
    await one.close();
  });
  beforeEach(() => one.clock.stopAt(new Date('2026-05-01T10:00:20.000Z')));

  it('is allowed 20 times a minute per user over all instances, then 429 until the next minute', async () => {
    const alice = await one.user('mint-limited');
    const bob = await one.user('mint-neighbour');
    for (let n = 0; n < 20; n++) await minted(alice.at(n % 2 ? one.url : two.url));
    for (const { url } of [one, two]) {
      const refused = await mint(alice.at(url), { name: 'x' }).expect(429);
      expect(refused.body).toEqual({ error: 'too many requests' });
      expect(refused.headers['retry-after']).toBe('40');
    }
    expect(await listed(alice)).toHaveLength(20);
    await minted(bob);

    one.clock.advance(39_999);
    await mint(alice, { name: 'x' }).expect(429);
    one.clock.advance(1);
    await minted(alice);
  });

  it('is allowed 20 times in a burst of 40 concurrent requests', async () => {
    const alice = await one.user('mint-burst');
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => mint(alice.at(n % 2 ? one.url : two.url), { name: 'x' })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(20);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
    expect(await listed(alice)).toHaveLength(20);
  });
});
