import { randomBytes, randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { Suspensions } from '../../../src/domain/auth/index.js';
import { generateVapidKeys, WebPush } from '../../../src/domain/devices/web-push/web-push.service.js';
import { EventBus } from '../../../src/platform/events/index.js';
import { TokenWatch } from '../../../src/domain/realtime/token-watch.js';
import { CHANGES } from '../../../src/domain/workspaces/index.js';
import { assetToken, envelope, TestAssets } from '../../kit/assets.js';
import { begunRequest } from '../../kit/begun-request.js';
import {
  BASE_URL,
  DEV_LOGIN_KEY,
  eventually,
  startService,
  type TestService,
  TestSocket,
  TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { type Browser, startPushService, type TestPushService } from '../../kit/push-service.js';
import { socketUrl } from '../../kit/socket.js';
import { Visitor } from '../../kit/visitor.js';
import { sha256 } from '../../kit/workspace.js';

const PASSWORD = 'correct horse battery staple';
const SUSPENDED = { error: 'the account is suspended' };
const HANDOFF = '/auth/desktop-handoff?client_state=a-state-of-the-app_0123456789';
const VAPID = generateVapidKeys();
const ENV = {
  VAPID_PUBLIC_KEY: VAPID.publicKey,
  VAPID_PRIVATE_KEY: VAPID.privateKey,
  VAPID_SUBJECT: 'mailto:push@example.org',
};

let pushService: TestPushService;
let service: TestService;
/** Another instance, on which the operator acts. */
let other: TestService;
beforeAll(async () => {
  pushService = await startPushService();
  service = await startService({ env: ENV, outbound: pushService.outbound() });
  other = await startService({ env: ENV, beside: service });
});
afterAll(async () => {
  await other.close();
  await service.close();
  await pushService.close();
});

/** A user with every kind of credential. */
interface Person {
  readonly user: TestUser;
  readonly notes: TestWorkspace;
  readonly session: string;
  readonly oneTimeToken: string;
  readonly pat: TestUser;
}

let people = 0;
async function person(): Promise<Person> {
  const name = `person-${++people}`;
  const email = `${name}@example.org`;
  await identity('post', 'sign-up/email').send({ email, name, password: PASSWORD }).expect(200);
  const user = await service.user(name);
  const notes = await user.workspace();
  await notes.put('path', 'content').expect(201);
  const { body } = await identity('post', 'sign-in/email').send({ email, password: PASSWORD }).expect(200);
  const minted = await user.post('/api/v1/auth/tokens').send({ name: 'laptop' }).expect(201);
  const session = String(body.token);
  const ott = await identity('get', 'one-time-token/generate', session).expect(200);
  return { user, notes, session, oneTimeToken: ott.body.token, pat: user.at(service.url, minted.body.token) };
}

function identity(method: 'get' | 'post', action: string, session?: string): supertest.Test {
  const request = supertest(service.url)[method](`/api/auth/${action}`).set('Origin', BASE_URL);
  return session === undefined ? request : request.set('Authorization', `Bearer ${session}`);
}

const suspend = (user: TestUser): Promise<boolean> => other.app.get(Suspensions).suspend(user.id);
const resume = (user: TestUser): Promise<boolean> => other.app.get(Suspensions).resume(user.id);

const signIn = ({ email }: TestUser, password = PASSWORD): supertest.Test =>
  identity('post', 'sign-in/email').send({ email, password });

const devLogin = ({ email }: TestUser): supertest.Test =>
  supertest(service.url)
    .post('/api/v1/auth/dev-login')
    .set('X-Dev-Login-Key', DEV_LOGIN_KEY)
    .send({ email, name: 'x' });

/** Actions that are refused to a suspended account until it is resumed. */
const DEEDS: Record<string, (person: Person) => supertest.Test> = {
  'ask who it is': ({ user }) => user.get('/api/v1/auth/me'),
  'ask who it is with an access token': ({ pat }) => pat.get('/api/v1/auth/me'),
  'list workspaces': ({ pat }) => pat.get('/api/v1/workspaces'),
  upload: ({ notes }) => notes.put('path', randomUUID()),
  pull: ({ notes }) => notes.pull(0),
  'read its subscription': ({ user }) => user.get('/api/v1/subscription'),
  'list its access tokens': ({ user }) => user.get('/api/v1/auth/tokens'),
  'look at its session': ({ session }) => identity('get', 'get-session', session),
  'list its sessions': ({ session }) => identity('get', 'list-sessions', session),
  'get a JWT': ({ session }) => identity('get', 'token', session),
  'get a one-time token': ({ session }) => identity('get', 'one-time-token/generate', session),
  'change its name': ({ session }) => identity('post', 'update-user', session).send({ name: 'Other' }),
  'sign in': ({ user }) => signIn(user),
  'log in for development': ({ user }) => devLogin(user),
};

const answerOf = async (request: supertest.Test) => {
  const { status, body } = await request.ok(() => true);
  return { status, body: body instanceof Buffer ? (JSON.parse(body.toString()) as unknown) : body };
};

describe('a suspended account', () => {
  it.each(Object.entries(DEEDS))(
    'cannot %s, from the next request on, until it is resumed',
    async (_, deed) => {
      const somebody = await person();
      expect((await answerOf(deed(somebody))).status).toBeLessThan(300);
      await suspend(somebody.user);
      expect(await answerOf(deed(somebody))).toEqual({ status: 403, body: SUSPENDED });
      await resume(somebody.user);
      expect((await answerOf(deed(somebody))).status).toBeLessThan(300);
    },
  );

  it('cannot use an earlier one-time token', async () => {
    const { user, oneTimeToken } = await person();
    await suspend(user);
    const answer = await identity('post', 'one-time-token/verify').send({ token: oneTimeToken }).expect(403);
    expect(answer.body).toEqual(SUSPENDED);
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  it('is refused as suspended before the scope of its token is checked', async () => {
    const { user, notes } = await person();
    const minted = await user
      .post('/api/v1/auth/tokens')
      .send({ name: 'reader', scopes: ['documents:read'] });
    const reader = user.at(service.url, minted.body.token);
    await reader.delete(notes.path).expect(403, { error: 'the token lacks the scope full' });
    await suspend(user);
    await reader.delete(notes.path).expect(403, SUSPENDED);
  });

  it('is not revealed without its password', async () => {
    const { user } = await person();
    const before = await signIn(user, 'a wrong password').expect(401);
    await suspend(user);
    const after = await signIn(user, 'a wrong password').expect(401);
    expect(after.body).toEqual(before.body);
  });

  it('can sign out', async () => {
    const { user, session } = await person();
    await suspend(user);
    await identity('post', 'sign-out', session).send({}).expect(200);
    await resume(user);
    expect((await identity('get', 'get-session', session).expect(200)).body).toBeNull();
  });

  it('gets no session by signing in', async () => {
    const { user } = await person();
    const count = 'SELECT count(*)::int AS n FROM auth_sessions WHERE user_id = $1';
    const before = await service.database.query(count, [user.id]);
    await suspend(user);
    await signIn(user).expect(403);
    expect(await service.database.query(count, [user.id])).toEqual(before);
  });

  it.each(['/account', HANDOFF])(
    'gets a page about the suspension at %s, signed in or on sign-in',
    async (path) => {
      const { user } = await person();
      const [signedIn, stranger] = [new Visitor(service.url), new Visitor(service.url)];
      const filledIn = { email: user.email, password: PASSWORD };
      await signedIn.submit(await signedIn.get(path), 'Sign in', filledIn);
      await suspend(user);
      const answers = [
        await signedIn.get(path),
        await stranger.submit(await stranger.get(path), 'Sign in', filledIn),
      ];
      for (const answer of answers) {
        expect(answer.status).toBe(403);
        expect(answer.headers['content-type']).toContain('text/html');
        expect(answer.text).toContain('the account is suspended');
      }
      await resume(user);
      expect((await signedIn.get(path)).status).toBe(200);
    },
  );

  it.each(['upload of a file', 'upload of an asset'])(
    'cannot finish an %s that was under way',
    async (what) => {
      const { notes, user } = await person();
      const body =
        what === 'upload of a file'
          ? randomBytes(5_000)
          : JSON.stringify({ encryptedFilename: assetToken(), data: envelope().toString('base64') });
      const request =
        what === 'upload of a file'
          ? notes.user.put(notes.file('slow')).set({ 'X-Content-Hash': sha256(body), 'X-Device-Id': 'slow' })
          : TestAssets.of(notes).request('post').set('Content-Type', 'application/json');
      const finish = await begunRequest(service, request, body);
      await suspend(user);
      service.clock.advance(5_000);
      const answer = await finish();
      expect([answer.status, JSON.parse(answer.text || String(answer.body))]).toEqual([403, SUSPENDED]);
      expect(
        await service.database.query('SELECT FROM versions WHERE workspace_id = $1', [notes.id]),
      ).toHaveLength(1);
      expect(await service.database.query('SELECT FROM assets WHERE workspace_id = $1', [notes.id])).toEqual(
        [],
      );
    },
  );

  it('keeps its subscription, for which payment events are still processed', async () => {
    const { user } = await person();
    await suspend(user);
    const object = {
      id: `sub_${people}`,
      customer: `cus_${people}`,
      status: 'active',
      metadata: { userId: user.id },
    };
    const event = {
      id: `evt_${people}`,
      type: 'customer.subscription.created',
      created: Math.floor(Date.now() / 1000),
    };
    await supertest(service.url)
      .post('/api/v1/webhooks/payment')
      .send({ ...event, data: { object } })
      .expect(200);
    await resume(user);
    expect((await user.get('/api/v1/subscription').expect(200)).body).toMatchObject({ status: 'active' });
  });
});

describe("a suspended account's sockets", () => {
  it('are closed with 4403 on every instance', async () => {
    const { notes, user, pat } = await person();
    const bystander = await TestSocket.join((await person()).notes, 'bystander');
    const sockets = [
      await TestSocket.join(notes, 'laptop'),
      await TestSocket.open(other.url, notes.id, user.token),
      await TestSocket.open(service.url, notes.id, pat.token),
    ];
    await suspend(user);
    for (const socket of sockets) expect(await socket.closed()).toBe(4403);
    await bystander.settled();
    await bystander.close();
  });

  it('are closed by the periodic check when no event arrives', async () => {
    const { notes, user } = await person();
    const socket = await TestSocket.join(notes, 'laptop');
    await service.database.query('UPDATE users SET suspended_at = now() WHERE id = $1', [user.id]);
    await service.app.get(TokenWatch).closeLapsed();
    expect(await socket.closed()).toBe(4403);
  });

  it('are refused before the upgrade', async () => {
    const { notes, user, pat } = await person();
    await suspend(user);
    for (const token of [user.token, pat.token]) {
      const url = socketUrl(service.url, notes.id, token).replace(/^ws/, 'http');
      const upgrade = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' };
      const answer = await supertest(url)
        .get('')
        .set({ ...upgrade, 'Sec-WebSocket-Key': randomBytes(16).toString('base64') })
        .expect(403);
      expect(answer.body).toEqual(SUSPENDED);
    }
  });
});

describe("a suspended account's devices", () => {
  async function subscribed(notes: TestWorkspace): Promise<Browser> {
    const browser = pushService.browser();
    const { endpoint, keys } = browser;
    const body = { workspaceId: notes.id, deviceId: 'phone', endpoint, keys };
    await notes.user.post('/api/v1/devices/push-subscription').send(body).expect(201);
    return browser;
  }

  it('receive no push until it is resumed', async () => {
    const [suspended, free] = [await person(), await person()];
    const browsers = [await subscribed(suspended.notes), await subscribed(free.notes)];
    await suspend(suspended.user);
    for (const { notes } of [suspended, free])
      service.app.get(EventBus).publish({ topic: CHANGES, key: notes.id }, { by: 'laptop' });
    await eventually(async () => {
      await service.app.get(WebPush).sendDue();
      expect(browsers[1]!.received).toHaveLength(1);
    });
    expect(browsers[0]!.received).toHaveLength(0);
    await resume(suspended.user);
    await service.app.get(WebPush).sendDue();
    expect(browsers[0]!.received).toHaveLength(1);
  });
});
