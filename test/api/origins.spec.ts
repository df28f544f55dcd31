import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { BASE_URL, startService, type TestService } from '../kit/index.js';

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

/** The cookies of somebody who is signed in. */
async function cookies(): Promise<string> {
  const answer = await post('sign-up/email', { Origin: BASE_URL }, account()).expect(200);
  return (answer.get('Set-Cookie') ?? []).map((cookie) => cookie.split(';')[0]).join('; ');
}

describe.each([...WEB_VIEWS, 'https://notes.xn--bcher-kva.example'])('a page of %s', (origin) => {
  it('may sign up and in, use its cookies, and read the answers', async () => {
    const somebody = account();
    const browser = { Origin: origin, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors' };
    const answer = await post('sign-up/email', browser, somebody).expect(200);
    expect(answer.headers['access-control-allow-origin']).toBe(origin);
    await post('sign-in/email', browser, somebody).expect(200);
    await post('sign-out', { ...browser, Cookie: await cookies() }).expect(200);
    const asked = { Origin: origin, 'Access-Control-Request-Method': 'POST' };
    await supertest(service.url).options('/api/auth/one-time-token/verify').set(asked).expect(204);
  });
});

describe.each([
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
])('a page of %s, which is not trusted', (origin) => {
  it('may do none of this, with cookies or without', async () => {
    const browser = { Origin: origin, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'cors' };
    for (const headers of [browser, { Origin: origin }]) {
      const answer = await post('sign-up/email', headers, account()).expect(403);
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      expect(answer.get('Set-Cookie')).toBeUndefined();
      await post('sign-out', { ...headers, Cookie: await cookies() }).expect(403);
    }
  });
});

describe('a client that sends no Origin', () => {
  it('signs up and in with the fetch of Node.js itself, and with nothing but a body', async () => {
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

  it('is refused with cookies, whatever else it claims', async () => {
    const Cookie = await cookies();
    const kinds: Record<string, string>[] = [
      {},
      { 'Sec-Fetch-Mode': 'cors' },
      { 'Sec-Fetch-Site': 'same-origin' },
    ];
    for (const more of kinds) {
      await post('sign-in/email', { Cookie, ...more }, account()).expect(403);
      await post('sign-out', { Cookie, ...more }).expect(403);
    }
    await post('sign-in/email', { Cookie: 'a=b' }, account()).expect(403);
  });

  it('is judged by its Referer, when it has one', async () => {
    await post('sign-up/email', { Referer: 'https://evil.example/' }, account()).expect(403);
    await post('sign-up/email', { Referer: `${BASE_URL}/x` }, account()).expect(200);
  });
});
