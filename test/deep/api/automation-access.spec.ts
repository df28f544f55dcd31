import { Subscriptions } from '../../../src/domain/billing/index.js';
import type { Scope } from '../../../src/access/route-access.js';
import { type Answer, hangUp, send } from '../../kit/routes/send.js';
import { TestVault } from '../../kit/automation.js';
import { changedTables, checksums } from '../../kit/checksums.js';
import { startService, type TestService, type TestUser } from '../../kit/index.js';

interface Route {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  readonly path: string;
  /** Any one of these suffices. */
  readonly scopes: readonly Scope[];
  readonly needsSession: boolean;
  /** Status of a permitted request that changes nothing. */
  readonly status: number;
}

const READ: readonly Scope[] = ['documents:read'];
const WRITE: readonly Scope[] = ['documents:write'];
const EITHER: readonly Scope[] = [...READ, ...WRITE];

const ROUTES: readonly Route[] = [
  { method: 'post', path: '/key-sessions', scopes: EITHER, needsSession: false, status: 400 },
  { method: 'get', path: '/notes', scopes: READ, needsSession: true, status: 200 },
  { method: 'get', path: '/notes/a.md', scopes: READ, needsSession: true, status: 200 },
  { method: 'post', path: '/notes', scopes: WRITE, needsSession: true, status: 400 },
  { method: 'put', path: '/notes/a.md', scopes: WRITE, needsSession: true, status: 400 },
  { method: 'delete', path: '/notes/absent.md', scopes: WRITE, needsSession: true, status: 404 },
  { method: 'get', path: '/search?q=a', scopes: READ, needsSession: true, status: 200 },
  { method: 'get', path: '/history/a.md', scopes: READ, needsSession: true, status: 200 },
  { method: 'post', path: '/restore/a.md', scopes: WRITE, needsSession: true, status: 400 },
  { method: 'get', path: '/checkpoints', scopes: READ, needsSession: true, status: 200 },
  { method: 'post', path: '/checkpoints', scopes: WRITE, needsSession: true, status: 400 },
  { method: 'get', path: '/checkpoints/x/summary', scopes: READ, needsSession: true, status: 404 },
];

interface Bearer {
  readonly of: 'owner' | 'lapsed' | 'stranger';
  /** Undefined for a JWT. */
  readonly scopes?: readonly Scope[];
  readonly bound?: 'here' | 'elsewhere';
  readonly isExpired?: true;
}

const SCOPE_SETS: readonly (readonly Scope[])[] = [
  ['full'],
  ['documents:read'],
  ['documents:write'],
  ['documents:read', 'documents:write'],
  ['agent:invoke'],
  ['assets:read'],
  ['assets:write'],
  ['assets:read', 'documents:write'],
];

const BEARERS: readonly Bearer[] = [
  { of: 'owner' },
  { of: 'lapsed' },
  { of: 'stranger' },
  ...SCOPE_SETS.flatMap((scopes): Bearer[] => [
    { of: 'owner', scopes },
    { of: 'lapsed', scopes },
    { of: 'stranger', scopes },
    { of: 'owner', scopes, bound: 'here' },
    { of: 'owner', scopes, bound: 'elsewhere' },
    { of: 'owner', scopes, isExpired: true },
  ]),
];

const SESSIONS = ['none', 'good', 'of another workspace', 'ended', 'of an expired token'] as const;
type Session = (typeof SESSIONS)[number];

/** Order of checks: bearer, scope, subscription, ownership, key session, validation, operation. */
function expected(route: Route, bearer: Bearer, session: Session): number {
  const { of, scopes, bound, isExpired } = bearer;
  if (isExpired) return 401;
  const isGranted =
    !scopes || scopes.includes('full') || scopes.some((scope) => route.scopes.includes(scope));
  if (!isGranted) return 403;
  if (of === 'lapsed') return 402;
  if (of === 'stranger' || bound === 'elsewhere') return 404;
  return route.needsSession && session !== 'good' ? 401 : route.status;
}

let service: TestService;
let owner: TestVault;
let lapsed: TestVault;
let tokens: Map<Bearer, TestUser>;
let sessions: Record<Session, string>;
beforeAll(async () => {
  service = await startService({ env: { LOG_LEVEL: 'silent' } });
  owner = await vaultOf('owner');
  lapsed = await vaultOf('lapsed');
  const expiring = await tokenOf({ of: 'owner', scopes: ['full'], isExpired: true });
  const opened = await owner.withNewSession(expiring);
  tokens = new Map();
  for (const bearer of BEARERS) tokens.set(bearer, await tokenOf(bearer));
  const ended = await owner.withNewSession();
  await ended.endSession().expect(200);
  sessions = {
    none: '',
    good: owner.keySession,
    'of another workspace': (await TestVault.setUp(await owner.workspace.user.workspace())).keySession,
    ended: ended.keySession,
    'of an expired token': opened.keySession,
  };
  await service.app.get(Subscriptions, { strict: false }).grant(lapsed.workspace.user.id, 'expired', null);
  service.clock.advance(60_000); // the expiring tokens have expired
});
afterAll(async () => {
  hangUp();
  await service.close();
});

async function vaultOf(name: string): Promise<TestVault> {
  const vault = await TestVault.setUp(await (await service.user(name)).workspace());
  await vault.create('a.md', 'text').expect(201);
  return vault;
}

async function tokenOf({ of, scopes, bound, isExpired }: Bearer): Promise<TestUser> {
  const user = await service.user(of);
  if (!scopes) return user;
  const elsewhere = bound === 'elsewhere' ? (await user.workspace('elsewhere')).id : undefined;
  const workspaceId = bound === 'here' ? owner.workspace.id : elsewhere;
  const expiresAt = isExpired && new Date(service.clock.now().getTime() + 59_000).toISOString();
  const request = user.post('/api/v1/auth/tokens').send({ name: 'cell', scopes, workspaceId, expiresAt });
  return user.at(user.url, (await request.expect(201)).body.token);
}

/** Whose workspace is requested: strangers request the owner's. */
const vaultAimedAt = ({ of }: Bearer): TestVault => (of === 'lapsed' ? lapsed : owner);

const nameOf = ({ of, scopes, bound, isExpired }: Bearer): string =>
  [isExpired && 'expired', of, scopes?.join('+') ?? 'JWT', bound && `bound ${bound}`]
    .filter(Boolean)
    .join(' ');

const ask = (method: string, path: string, bearer: Bearer, session: string): Promise<Answer> => {
  const spelling = { method: method.toUpperCase(), path: `${vaultAimedAt(bearer).path}${path}` };
  const headers = {
    Authorization: `Bearer ${tokens.get(bearer)!.token}`,
    ...(session === '' ? {} : { 'X-Key-Session': session }),
  };
  return send(service.url, spelling, {}, { headers });
};

describe(`the key-session matrix: ${ROUTES.length} routes by ${BEARERS.length} bearers by ${SESSIONS.length} sessions`, () => {
  it.each(ROUTES)('$method $path', async (route) => {
    const before = await checksums(service.database);
    const cells = BEARERS.flatMap((bearer) => SESSIONS.map((session) => ({ bearer, session })));
    const wrong: unknown[] = [];
    for (let at = 0; at < cells.length; at += 32) {
      const answers = cells.slice(at, at + 32).map(async ({ bearer, session }) => {
        const wanted = expected(route, bearer, session);
        const { status, body } = await ask(route.method, route.path, bearer, sessions[session]);
        const isFlat = status < 400 || /^\{"error":"[^"]+"\}$/.test(body);
        if (status !== wanted || !isFlat)
          wrong.push({ bearer: nameOf(bearer), session, status, wanted, body });
      });
      await Promise.all(answers);
    }
    expect(wrong).toEqual([]);
    expect(changedTables(before, await checksums(service.database))).toEqual([]);
  });
});

describe('DELETE /key-sessions/current', () => {
  const path = '/key-sessions/current';
  const route: Route = { method: 'delete', path, scopes: EITHER, needsSession: true, status: 200 };

  it('ends a session only for callers that may use one', async () => {
    for (const bearer of BEARERS) {
      for (const session of SESSIONS) {
        const fresh = session === 'good' ? await owner.withNewSession() : undefined;
        const { status } = await ask(route.method, path, bearer, fresh?.keySession ?? sessions[session]);
        const wanted = expected(route, bearer, session);
        expect([nameOf(bearer), session, status]).toEqual([nameOf(bearer), session, wanted]);
        if (fresh) await fresh.read('a.md').expect(status === 200 ? 401 : 200);
      }
    }
  });
});

describe('GET metadata', () => {
  /** `assets:read` by name needs no subscription; everything else does. No caller needs a key session. */
  function wanted({ of, scopes, bound, isExpired }: Bearer): number {
    if (isExpired) return 401;
    const opens = ['full', 'documents:read', 'assets:read'];
    if (scopes && !scopes.some((scope) => opens.includes(scope))) return 403;
    if (of === 'lapsed' && !scopes?.includes('assets:read')) return 402;
    return of === 'stranger' || bound === 'elsewhere' ? 404 : 200;
  }

  it('answers according to the scopes, the binding and the subscription of the caller', async () => {
    const answers = BEARERS.map(async (bearer) => {
      const { status } = await ask('get', '/metadata', bearer, '');
      return [nameOf(bearer), status];
    });
    expect(await Promise.all(answers)).toEqual(BEARERS.map((bearer) => [nameOf(bearer), wanted(bearer)]));
  });
});
