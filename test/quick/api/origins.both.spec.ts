import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { BASE_URL, startService, type TestService } from '../../kit/index.js';
import { sendRaw } from '../../kit/raw-http.js';
import { firstOf } from '../../kit/rounds.js';

const PASSWORD = 'correct horse battery staple';
const WEB_VIEWS = [
  'app://obsidian.md',
  'capacitor://localhost',
  'tauri://localhost',
  'http://tauri.localhost',
  'ionic://localhost',
  'chrome-extension://cjpalhdlnbpafiamejdnhcphjbkeiagm',
];

let service: TestService;
beforeAll(async () => {
  const env = { TRUSTED_ORIGINS: `${WEB_VIEWS.join(', ')}, HTTPS://Notes.Bücher.example:443/` };
  service = await startService({ env });
});
afterAll(() => service.close());

const account = (): { email: string; name: string; password: string } => ({
  email: `${randomUUID()}@example.org`,
  name: 'Somebody',
  password: PASSWORD,
});

function post(action: string, headers: Record<string, string>, body: object = {}): supertest.Test {
  return supertest(service.url).post(`/api/auth/${action}`).set(headers).send(body);
}

interface Somebody {
  readonly email: string;
  readonly cookies: string;
  readonly token: string;
}

/** Signs up a user as a browser on the service's own origin does. */
async function signedIn(): Promise<Somebody> {
  const { email, ...more } = account();
  const answer = await post('sign-up/email', { Origin: BASE_URL }, { email, ...more }).expect(200);
  const { token } = answer.body as { token: string };
  const cookies = (answer.get('Set-Cookie') ?? []).map((cookie) => cookie.split(';')[0]).join('; ');
  return { email, cookies, token };
}

const sessionOf = async (headers: Record<string, string>): Promise<unknown> =>
  (await supertest(service.url).get('/api/auth/get-session').set(headers).expect(200)).body as unknown;

const bearerOf = ({ token }: Somebody): Record<string, string> => ({ Authorization: `Bearer ${token}` });

describe('a browser on the service’s own origin', () => {
  it('reads and ends its session with its cookies, which /api/v1 does not accept', async () => {
    const { cookies: Cookie, email } = await signedIn();
    const kinds: Record<string, string>[] = [
      { Origin: BASE_URL },
      { 'Sec-Fetch-Site': 'same-origin' },
      { 'Sec-Fetch-Site': 'none', 'Sec-Fetch-Mode': 'navigate' },
      { Origin: 'null', 'Sec-Fetch-Site': 'same-origin' },
    ];
    for (const headers of kinds)
      expect(await sessionOf({ Cookie, ...headers })).toMatchObject({ user: { email } });
    await supertest(service.url).get('/api/v1/auth/me').set({ Cookie, Origin: BASE_URL }).expect(401);
    await post('sign-out', { Cookie, Origin: BASE_URL }).expect(200);
    expect(await sessionOf({ Cookie, Origin: BASE_URL })).toBeNull();
  });
});

describe.each(firstOf(1, [...WEB_VIEWS, 'https://notes.xn--bcher-kva.example']))('a page of %s', (origin) => {
  const browsers = ['cross-site', 'same-site'].map((site) => ({
    Origin: origin,
    'Sec-Fetch-Site': site,
    'Sec-Fetch-Mode': 'cors',
  }));

  it('may sign up and in, read the responses, and use its session as a bearer', async () => {
    for (const browser of browsers) {
      const somebody = account();
      const answer = await post('sign-up/email', browser, somebody).expect(200);
      expect(answer.headers['access-control-allow-origin']).toBe(origin);
      const { body } = await post('sign-in/email', browser, somebody).expect(200);
      const bearer = { ...browser, Authorization: `Bearer ${(body as { token: string }).token}` };
      expect(await sessionOf(bearer)).toMatchObject({ user: { email: somebody.email } });
      await post('sign-out', bearer).expect(200);
      expect(await sessionOf(bearer)).toBeNull();
    }
    const asked = { Origin: origin, 'Access-Control-Request-Method': 'POST' };
    await supertest(service.url).options('/api/auth/one-time-token/verify').set(asked).expect(204);
  });

  it('neither uses the cookies of the service nor gets any, and is allowed no credentials', async () => {
    const somebody = await signedIn();
    for (const browser of [...browsers, { Origin: origin }]) {
      const headers = { ...browser, Cookie: somebody.cookies };
      expect(await sessionOf(headers)).toBeNull();
      await post('revoke-other-sessions', headers).expect(401);
      for (const answer of [
        await post('sign-out', headers).expect(200),
        await post('sign-up/email', headers, account()).expect(200),
        await supertest(service.url).get('/account').set(headers),
      ]) {
        expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
        expect(answer.get('Set-Cookie') ?? []).not.toContainEqual(expect.stringContaining('session'));
      }
      expect(await sessionOf(bearerOf(somebody))).toMatchObject({ user: { email: somebody.email } });
    }
  });
});

const STRANGERS = [
  'app://obsidian.md.evil.example',
  'app://obsidian.md:80',
  'app://obsidian.md/',
  'APP://obsidian.md',
  'app://',
  'app:obsidian.md',
  'capacitor://localhost.evil',
  'http://localhost.evil',
  'https://notes.bücher.example'.normalize('NFD').replace(/[^\x21-\x7e]/g, ''),
  'https://evil.example',
  'null',
];

describe.each(firstOf(1, STRANGERS))('a page of %s, which is not trusted', (origin) => {
  it('may neither sign up nor use or end a session, with cookies or without', async () => {
    const browser = { Origin: origin, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors' };
    for (const headers of [browser, { Origin: origin }]) {
      const answer = await post('sign-up/email', headers, account()).expect(403);
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      expect(answer.get('Set-Cookie')).toBeUndefined();
      const somebody = await signedIn();
      expect(await sessionOf({ ...headers, Cookie: somebody.cookies })).toBeNull();
      await post('sign-out', { ...headers, Cookie: somebody.cookies }).expect(403);
      expect(await sessionOf(bearerOf(somebody))).not.toBeNull();
    }
  });
});

it('the pages show who is signed in after a link from another site, but not to its scripts', async () => {
  const { cookies: Cookie, email } = await signedIn();
  const account = async (headers: Record<string, string>): Promise<boolean> =>
    (
      await supertest(service.url)
        .get('/account')
        .set({ Cookie, ...headers })
        .expect(200)
    ).text.includes(email);
  for (const site of ['cross-site', 'same-site']) {
    expect(await account({ 'Sec-Fetch-Site': site, 'Sec-Fetch-Mode': 'navigate' })).toBe(true);
    for (const mode of ['cors', 'no-cors', 'same-origin'])
      expect(await account({ 'Sec-Fetch-Site': site, 'Sec-Fetch-Mode': mode })).toBe(false);
  }
  expect(await account({ Origin: 'http://tauri.localhost' })).toBe(false);
  for (const own of [{ Origin: BASE_URL }, { Origin: 'null' }]) expect(await account(own)).toBe(true);
  expect(await account({})).toBe(true); // as from a browser without https
});

describe('a path of the identity handler', () => {
  it.each([
    'sign-in%2femail',
    'sign-in%2Femail',
    'sign-in%252femail',
    's%69gn-in/email',
    'sign%2din/email',
    'sign-in/e%6Dail',
    'sign-in//email',
    'sign-in/email/',
    'sign-in/./email',
    'sign-in/%2e/email',
    'x/../sign-in/email',
    'x%2f..%2fsign-in/email',
    'sign-in/email%3Fx',
    'sign-in/email%23',
    'sign-in/email#x',
    'sign-in/email;x=1',
    'sign-in/email%3bx',
    'sign-in\\email',
    'sign-in%5cemail',
    'Sign-In/Email',
    'sign-in/email%00',
    'sign-in/email%20',
    '/sign-in/email',
    '%2fsign-in/email',
  ])('that is spelled %s is no route', async (path) => {
    const body = JSON.stringify(account());
    const headers = { 'Content-Type': 'application/json' };
    for (const target of [`/api/auth/${path}`, `http://localhost/api/auth/${path}`]) {
      const { status } = await sendRaw(service.url, { method: 'POST', path: target, headers, body });
      expect(path.includes('#') ? [400, 404] : [404]).toContain(status); // a target has no fragment
    }
  });

  it.each(['/%61pi/auth/sign-in/email', '/api%2fauth/sign-in/email', '/api/%61uth/sign-in/email'])(
    'whose beginning is spelled %s is no route either',
    async (path) => {
      const { status } = await sendRaw(service.url, { method: 'POST', path });
      expect(status).toBe(404);
    },
  );

  it('may be an absolute target, with a query', async () => {
    const somebody = account();
    await post('sign-up/email', {}, somebody).expect(200);
    const body = JSON.stringify(somebody);
    const headers = { 'Content-Type': 'application/json' };
    for (const path of ['/api/auth/sign-in/email?a=/b%2f', `${BASE_URL}/api/auth/sign-in/email?a`])
      expect((await sendRaw(service.url, { method: 'POST', path, headers, body })).status).toBe(200);
  });
});

describe('a client that sends no Origin', () => {
  it('signs up and in with fetch of Node.js, and signs in with only a body', async () => {
    const somebody = account();
    const fetched = (action: string, headers = {}): Promise<Response> =>
      fetch(`${service.url}/api/auth/${action}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(somebody),
      });
    expect((await fetched('sign-up/email')).status).toBe(200);
    const signedIn = await fetched('sign-in/email');
    expect(signedIn.status).toBe(200);
    const { token } = (await signedIn.json()) as { token: string };
    const authorization = `Bearer ${token}`;
    expect((await fetch(`${service.url}/api/auth/token`, { headers: { authorization } })).status).toBe(200);
    expect((await fetched('sign-out', { authorization })).status).toBe(200);
    await post('sign-in/email', {}, somebody).expect(200);
  });

  it.each(['cross-site', 'same-site', 'same-origin', 'none', 'made-up'])(
    'is refused when it is a browser: Sec-Fetch-Site is %s',
    async (site) => {
      for (const mode of ['', 'navigate', 'cors'])
        await post('sign-up/email', { 'Sec-Fetch-Site': site, 'Sec-Fetch-Mode': mode }, account()).expect(
          403,
        );
    },
  );

  it('signs in again with the cookies of an earlier session, as a cookie jar sends them', async () => {
    const one = await signedIn();
    const another = account();
    await post('sign-up/email', {}, another).expect(200);
    const kinds: Record<string, string>[] = [{}, { 'Sec-Fetch-Mode': 'cors' }, { Cookie: 'a=b' }];
    for (const more of kinds) {
      const jar = { Cookie: one.cookies, ...more };
      const { body } = await post('sign-in/email', jar, another).expect(200);
      const bearer = { ...jar, Authorization: `Bearer ${(body as { token: string }).token}` };
      expect(await sessionOf(bearer)).toMatchObject({ user: { email: another.email } });
      await post('sign-out', bearer).expect(200);
      expect(await sessionOf(bearer)).toBeNull();
    }
    expect(await sessionOf(bearerOf(one))).toMatchObject({ user: { email: one.email } });
  });

  it('cannot use a session by its cookies, only as a bearer', async () => {
    const somebody = await signedIn();
    const jar = { Cookie: somebody.cookies };
    expect(await sessionOf(jar)).toBeNull();
    await post('revoke-other-sessions', jar).expect(401);
    await post('sign-out', jar).expect(200);
    expect(await sessionOf({ ...jar, ...bearerOf(somebody) })).not.toBeNull();
  });

  it('is refused with cookies when it is a browser that hides its origin', async () => {
    const { cookies: Cookie } = await signedIn();
    for (const site of ['cross-site', 'same-site', 'same-origin'])
      for (const action of ['sign-in/email', 'sign-out'])
        await post(action, { Cookie, 'Sec-Fetch-Site': site }, account()).expect(403);
  });

  it('is identified by its bearer, whatever its cookies, also on the service’s own origin', async () => {
    const one = await signedIn();
    const other = await signedIn();
    const browsers: Record<string, string>[] = [
      {},
      { Origin: BASE_URL },
      { 'Sec-Fetch-Site': 'same-origin' },
    ];
    for (const browser of browsers) {
      const both = { ...browser, Cookie: one.cookies, ...bearerOf(other) };
      expect(await sessionOf(both)).toMatchObject({ user: { email: other.email } });
      const wrong = { ...browser, Cookie: one.cookies, Authorization: 'Bearer malformed' };
      expect(await sessionOf(wrong)).toBeNull();
    }
  });

  it('is checked by its Referer when it sends one', async () => {
    await post('sign-up/email', { Referer: 'https://evil.example/' }, account()).expect(403);
    await post('sign-up/email', { Referer: `${BASE_URL}/x` }, account()).expect(200);
  });
});
