import supertest from 'supertest';
import { KillSwitch, type Mode } from '../../../src/platform/kill-switch.js';
import { BASE_URL, eventually, startService, type TestService } from '../../kit/index.js';
import { formOf, formsOf, textOf, Visitor } from '../../kit/visitor.js';

const PASSWORD = 'correct horse battery staple';
const STATE = 'a-state-of-the-app_0123456789';
const EDITOR = 'https://editor.example.org/auth/callback';
const ALT = 'https://bücher.example.org/callback';
const ALT_PUNYCODE = 'https://xn--bcher-kva.example.org/callback';

const ACCOUNT = { email: 'victim@example.org', password: PASSWORD };

let service: TestService;
beforeAll(async () => {
  service = await startService({ env: { EDITOR_CALLBACK_URL: EDITOR, ALT_CALLBACK_URL: ALT } });
  await supertest(service.url)
    .post('/api/auth/sign-up/email')
    .set('Origin', BASE_URL)
    .send({ ...ACCOUNT, name: 'Victim' })
    .expect(200);
});
afterAll(() => service.close());

const query = (parameters: Record<string, string>): string => new URLSearchParams(parameters).toString();

/** The numbers of sessions and one-time tokens, which a handoff would increase. */
async function traces(): Promise<unknown> {
  const [row] = await service.database.query(
    `SELECT (SELECT count(*)::int FROM auth_sessions) AS sessions, (SELECT count(*)::int FROM auth_verifications) AS tokens`,
  );
  return row;
}

function expectPage(answer: supertest.Response, status: number): void {
  expect(answer.status).toBe(status);
  expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(answer.headers['cache-control']).toBe('no-store');
  expect(answer.headers['content-security-policy']).toContain("frame-ancestors 'none'");
  expect(answer.headers.location).toBeUndefined();
}

/** Expects 400 for a GET with these parameters, and for the form of a valid page posted with them. */
async function expectRefused(
  path: '/auth/desktop-handoff' | '/auth/web-handoff',
  wrong: string,
): Promise<void> {
  const asked = await new Visitor(service.url).get(`${path}?${wrong}`);
  expectPage(asked, 400);
  expect(asked.headers['content-security-policy']).toContain("form-action 'none'");
  expect(formsOf(asked)).toEqual([]);

  const browser = new Visitor(service.url);
  const page = await browser.get(`${path}?${query({ client_state: STATE, return_to: EDITOR })}`);
  const { csrf_token, intent } = formOf(page, 'Sign in').values;
  const before = await traces();
  const own = Object.entries({ csrf_token: csrf_token!, intent: intent!, ...ACCOUNT });
  const posted = await browser.post(path, [...own, ...new URLSearchParams(wrong)]);
  expectPage(posted, 400);
  expect(await traces()).toEqual(before);
}

describe('return_to', () => {
  it.each([
    ['is missing', undefined],
    ['is empty', ''],
    ['has a user', 'https://user@editor.example.org/auth/callback'],
    ['has a user that looks like the host', 'https://editor.example.org@evil.example/auth/callback'],
    ['has a user and a password', 'https://editor.example.org:443@evil.example/auth/callback'],
    ['has no scheme', '//editor.example.org/auth/callback'],
    ['has two slashes in the path', 'https://editor.example.org//auth/callback'],
    ['has backslashes', 'https:\\\\editor.example.org\\auth\\callback'],
    ['has a backslash after the host', 'https://editor.example.org\\@evil.example/auth/callback'],
    ['has an encoded slash', 'https://editor.example.org%2fauth/callback'],
    ['has an encoded slash in the path', 'https://editor.example.org/auth%2Fcallback'],
    ['has an encoded letter', 'https://editor.example.org/auth/c%61llback'],
    ['has capitals in the host', 'https://EDITOR.example.org/auth/callback'],
    ['has capitals in the scheme', 'HTTPS://editor.example.org/auth/callback'],
    ['has capitals in the path', 'https://editor.example.org/auth/Callback'],
    ['has the default port', 'https://editor.example.org:443/auth/callback'],
    ['has another port', 'https://editor.example.org:8443/auth/callback'],
    ['has a fragment', `${EDITOR}#x`],
    ['has an empty fragment', `${EDITOR}#`],
    ['has a query', `${EDITOR}?next=https://evil.example`],
    ['has an empty query', `${EDITOR}?`],
    ['is in punycode when configured in Unicode', ALT_PUNYCODE],
    ['has a letter of another alphabet', 'https://editоr.example.org/auth/callback'],
    ['has a dot after the host', 'https://editor.example.org./auth/callback'],
    ['has a slash at the end', `${EDITOR}/`],
    ['has a suffix', `${EDITOR}.evil`],
    ['is a longer host', 'https://editor.example.org.evil.example/auth/callback'],
    ['is another host of the domain', 'https://evil.example.org/auth/callback'],
    ['is the origin alone', 'https://editor.example.org'],
    ['has a .. segment', 'https://editor.example.org/auth/x/../callback'],
    ['is http', 'http://editor.example.org/auth/callback'],
    ['has a space before it', ` ${EDITOR}`],
    ['has a line break after it', `${EDITOR}\r\nSet-Cookie: a=b`],
    ['has a tab in it', 'https://editor.exa\tmple.org/auth/callback'],
    ['has NUL after it', `${EDITOR}\0`],
    ['is a javascript: URL', 'javascript:alert(1)'],
    ['is a data: URL', 'data:text/html,x'],
    ['is an address of the app', 'cloudsync://auth/callback'],
    ['is a path', '/auth/callback'],
  ])('that %s is 400, and no token is created', async (_, returnTo) => {
    const wrong = query({ client_state: STATE, ...(returnTo === undefined ? {} : { return_to: returnTo }) });
    await expectRefused('/auth/web-handoff', wrong);
  });

  it.each([
    ['twice', `return_to=${EDITOR}&return_to=${EDITOR}`],
    ['twice, the second time with another address', `return_to=${EDITOR}&return_to=https://evil.example/`],
    ['twice, under an encoded name', `return_to=${EDITOR}&%72eturn_to=https://evil.example/`],
    ['as a list', `return_to[]=${EDITOR}`],
  ])('that is given %s is 400', async (_, parameters) => {
    await expectRefused('/auth/web-handoff', `client_state=${STATE}&${parameters}`);
  });

  it('is 400 when no callback is configured', async () => {
    const own = await startService({ beside: service });
    try {
      const asked = await new Visitor(own.url).get(
        `/auth/web-handoff?${query({ client_state: STATE, return_to: EDITOR })}`,
      );
      expectPage(asked, 400);
    } finally {
      await own.close();
    }
  });

  it('may be the configured address in Unicode; the policy has it in punycode', async () => {
    const path = `/auth/web-handoff?${query({ client_state: STATE, return_to: ALT })}`;
    const page = await new Visitor(service.url).get(path);
    expect(page.status).toBe(200);
    expect(page.headers['content-security-policy']).toContain(`form-action 'self' ${ALT_PUNYCODE};`);
  });
});

describe('scheme', () => {
  it.each([
    ['is empty', ''],
    ['is a script', 'javascript'],
    ['is https', 'https'],
    ['is another app', 'otherapp'],
    ['only begins like an allowed one', 'cloudsync-desktop-evil'],
    ['only begins like an allowed one, without a dash', 'cloudsyncx'],
    ['has capitals', 'CloudSync'],
    ['contains an address', 'cloudsync://evil.example/?'],
    ['has a colon', 'cloudsync:'],
    ['has a space', 'cloudsync '],
    ['has NUL', 'cloudsync\0'],
    ['is given twice', 'cloudsync&scheme=otherapp'],
  ])('that %s is 400, and no token is created', async (_, scheme) => {
    const encoded = scheme.includes('&') ? scheme : encodeURIComponent(scheme);
    await expectRefused('/auth/desktop-handoff', `client_state=${STATE}&scheme=${encoded}`);
  });
});

describe('client_state', () => {
  it.each([
    ['is missing', ''],
    ['is empty', 'client_state='],
    ['has 15 characters', `client_state=${'a'.repeat(15)}`],
    ['has 513 characters', `client_state=${'a'.repeat(513)}`],
    ['has a dot', 'client_state=abcdefghijklmnop.'],
    ['has a plus', 'client_state=abcdefghijklmnop%2B'],
    ['has a space', 'client_state=abcdefgh+ijklmnop'],
    ['has a line break', 'client_state=abcdefghijklmnop%0A'],
    ['has an ampersand', 'client_state=abcdefghijklmnop%26'],
    ['has markup', 'client_state=abcdefghijklmnop%3Cscript%3E'],
    ['is given twice', `client_state=${STATE}&client_state=${STATE}`],
    ['is badly encoded', 'client_state=abcdefghijklmnop%zz'],
  ])('that %s is 400 on both pages', async (_, clientState) => {
    await expectRefused('/auth/desktop-handoff', clientState);
    await expectRefused('/auth/web-handoff', `${clientState}&return_to=${encodeURIComponent(EDITOR)}`);
  });

  it.each([16, 512])('may have %i characters', async (length) => {
    const page = await new Visitor(service.url).get(
      `/auth/desktop-handoff?client_state=${'x'.repeat(length)}`,
    );
    expect(page.status).toBe(200);
  });

  it('is not repeated on the page that refuses it', async () => {
    const { text } = await new Visitor(service.url).get('/auth/desktop-handoff?client_state=%3Cb%3Ehostile');
    expect(text).not.toContain('hostile');
    expect(textOf(text)).toContain('start again from there');
  });
});

describe('a form', () => {
  const PATH = `/auth/desktop-handoff?${query({ client_state: STATE })}`;

  /** A signed-in browser, which another site would abuse, at the page. */
  async function victim() {
    const browser = new Visitor(service.url);
    await browser.submit(await browser.get(PATH), 'Sign in', ACCOUNT);
    return { browser, page: await browser.get(PATH) };
  }

  async function expectNothing(
    status: number,
    post: () => Promise<supertest.Response>,
  ): Promise<supertest.Response> {
    const before = await traces();
    const answer = await post();
    expectPage(answer, status);
    expect(await traces()).toEqual(before);
    return answer;
  }

  it.each([
    ['without its token', { csrf_token: undefined }],
    ['with an empty token', { csrf_token: '' }],
    ['with another token', { csrf_token: 'x'.repeat(43) }],
  ])('%s is 403, and the form is shown again', async (_, wrong) => {
    const { browser, page } = await victim();
    const answer = await expectNothing(403, () => browser.submit(page, 'Continue', wrong));
    expect(textOf(answer.text)).toContain('out of date');
    expect((await browser.submit(answer, 'Continue')).status).toBe(200);
  });

  it('is 403 with the token of another browser', async () => {
    const { browser, page } = await victim();
    const { values } = formOf(await new Visitor(service.url).get(PATH), 'Sign in');
    await expectNothing(403, () => browser.submit(page, 'Continue', { csrf_token: values.csrf_token }));
  });

  it('is 403 for a signed-in user with the token and the cookie of another visitor', async () => {
    const { browser, page } = await victim();
    const attacker = new Visitor(service.url);
    const { values } = formOf(await attacker.get(PATH), 'Sign in');
    browser.setCookie('form-secret', attacker.cookie.split('=')[1]!);
    await expectNothing(403, () => browser.submit(page, 'Continue', { csrf_token: values.csrf_token }));
  });

  it('is 403 with two form-secret cookies', async () => {
    const { browser, page } = await victim();
    browser.setCookie(' form-secret', 'a'.repeat(43));
    await expectNothing(403, () => browser.submit(page, 'Continue'));
  });

  it('is 403 when it was loaded before a sign-in', async () => {
    const browser = new Visitor(service.url);
    const page = await browser.get(PATH);
    await browser.submit(page, 'Sign in', ACCOUNT);
    await expectNothing(403, () => browser.submit(page, 'Sign in', ACCOUNT));
  });

  it('is 403 without cookies', async () => {
    const page = await new Visitor(service.url).get(PATH);
    await expectNothing(403, () => new Visitor(service.url).submit(page, 'Sign in', ACCOUNT));
  });

  it.each([
    ['another site', { Origin: 'https://evil.example' }],
    ['a host that begins like the service’s', { Origin: `${BASE_URL}.evil.example` }],
    ['another port', { Origin: 'http://localhost:9999' }],
    ['the editor', { Origin: 'https://editor.example.org' }],
    ['a cross-site page that hides its origin', { Origin: 'null', 'Sec-Fetch-Site': 'cross-site' }],
    ['a same-site page that hides its origin', { Origin: 'null', 'Sec-Fetch-Site': 'same-site' }],
  ])('from %s is 403, also with a valid token', async (_, headers) => {
    const { browser, page } = await victim();
    const answer = await expectNothing(403, () => browser.submit(page, 'Continue', {}, headers));
    expect(textOf(answer.text)).toContain('another site');
  });

  it.each([
    ['its own origin', { Origin: BASE_URL }],
    ['its own origin, with Sec-Fetch-Site', { Origin: BASE_URL, 'Sec-Fetch-Site': 'same-origin' }],
    ['its own page, which hides its origin', { Origin: 'null', 'Sec-Fetch-Site': 'same-origin' }],
  ])('from %s is accepted', async (_, headers) => {
    const { browser, page } = await victim();
    expect((await browser.submit(page, 'Continue', {}, headers)).status).toBe(200);
  });

  it('is 403 when it continues without a session', async () => {
    const browser = new Visitor(service.url);
    const page = await browser.get(PATH);
    await expectNothing(403, () => browser.submit(page, 'Sign in', { intent: 'continue' }));
  });

  it.each([
    ['an unknown intent', { intent: 'delete' }],
    ['no intent', { intent: undefined }],
    ['NUL in a field', { ...ACCOUNT, email: 'a\0@example.org' }],
  ])('with %s is 400', async (_, wrong) => {
    const browser = new Visitor(service.url);
    const page = await browser.get(PATH);
    await expectNothing(400, () => browser.submit(page, 'Sign in', wrong));
  });

  it('is 400 with a duplicate field', async () => {
    const browser = new Visitor(service.url);
    const { values } = formOf(await browser.get(PATH), 'Sign in');
    const twice = [...Object.entries({ ...values, ...ACCOUNT }), ['email', 'other@example.org'] as const];
    await expectNothing(400, () => browser.post('/auth/desktop-handoff', twice));
  });

  it('is 415 as JSON, and 413 when it is too large', async () => {
    const browser = new Visitor(service.url);
    const page = await browser.get(PATH);
    await expectNothing(415, async () =>
      supertest(service.url).post('/auth/desktop-handoff').set('Cookie', browser.cookie).send(ACCOUNT),
    );
    await expectNothing(413, () => browser.submit(page, 'Sign in', { email: 'x'.repeat(33 * 1024) }));
  });
});

describe('a request that is refused before it reaches a handler', () => {
  /** Requests a page with the Accept header of a browser. */
  const look = (path: string): supertest.Test =>
    supertest(service.url).get(path).set('Accept', 'text/html,application/xhtml+xml,*/*;q=0.8');
  const switchTo = async (mode: Mode): Promise<void> => {
    await service.app.get(KillSwitch).set(mode);
    await eventually(() => expect(service.app.get(KillSwitch).mode).toBe(mode));
  };
  afterEach(() => switchTo('off'));

  it.each(['/auth/desktop-handoff?scheme=x', '/auth/web-handoff', '/account', '/account/tokens?a=b'])(
    'gets a page at %s in a browser, and JSON otherwise',
    async (path) => {
      await switchTo('down');
      const answer = await look(path);
      expectPage(answer, 503);
      expect(textOf(answer.text)).toContain('503: the service is down for maintenance.');
      expect(answer.text).toContain(answer.headers['x-request-id']);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      expect(answer.headers['content-security-policy']).toContain("form-action 'none'");
      const { body } = await supertest(service.url).get(path).expect(503);
      expect(body).toEqual({ error: 'the service is down for maintenance' });
    },
  );

  it.each(['/account/', '/account/sessions/end', '/account/nothing', '/auth/nothing', '/auth'])(
    'gets a page at %s, where no page is served',
    async (path) => {
      expectPage(await look(path), 404);
      expect((await supertest(service.url).get(path).expect(404)).body).toEqual({ error: 'not found' });
    },
  );

  it.each(['/accounts', '/wp-login.php', '/docs/nothing', '/%3Cscript%3E?token=hunter2'])(
    'gets a page at the unknown address %s, which does not repeat it',
    async (path) => {
      const answer = await look(path);
      expectPage(answer, 404);
      expect(textOf(answer.text)).toContain('Page not found');
      expect(answer.text).not.toMatch(/later|hunter2|script%3E|%3Cscript|<script>/i);
      for (const to of ['/', '/account']) expect(answer.text).toContain(`href="${to}"`);
      const head = await supertest(service.url).head(path).set('Accept', 'text/html');
      expect([head.status, head.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
      expect((await supertest(service.url).get(path).expect(404)).body).toEqual({ error: 'not found' });
    },
  );

  it.each(['*/*', 'application/json', 'application/json, text/html;q=0.9', 'text/html;q=0', 'text/plain'])(
    'gets JSON at an unknown address when the client accepts %s',
    async (accept) => {
      const answer = await supertest(service.url).get('/nothing').set('Accept', accept).expect(404);
      expect(answer.body).toEqual({ error: 'not found' });
    },
  );

  it('gets JSON for a POST to an unknown address', async () => {
    const answer = await supertest(service.url).post('/nothing').set('Accept', 'text/html').expect(404);
    expect(answer.body).toEqual({ error: 'not found' });
  });

  it.each([
    '/api/v1/auth/me',
    '/api/auth/nothing',
    '/api/v1/nothing',
    '/health/nothing',
    '/openapi.json/nothing',
    '/%61pi/v1/auth/me',
  ])('gets JSON at %s, an address for programs', async (path) => {
    expect((await look(path)).headers['content-type']).toMatch(/^application\/json/);
  });

  it('gets a page at /', async () => {
    await switchTo('down');
    expectPage(await look('/'), 503);
    await switchTo('off');
  });
});

describe('the start page at /', () => {
  it.each(['text/html', '*/*', 'application/json'])('is sent to a client that accepts %s', async (accept) => {
    const answer = await supertest(service.url).get('/').set('Accept', accept).expect(200);
    expectPage(answer, 200);
    for (const to of ['/account', '/docs', '/readme']) {
      expect(answer.text).toContain(`href="${to}"`);
      await supertest(service.url).get(to).expect(200);
    }
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  it('answers HEAD, and 404 to POST', async () => {
    const { headers } = await supertest(service.url).head('/').expect(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    await supertest(service.url).post('/').expect(404);
  });
});

describe('a session cookie', () => {
  it.each([
    'better-auth.session_token=%E0%A4%A',
    'better-auth.session_token=x.y',
    'better-auth.session_token=%00',
    'better-auth.session_token',
    `better-auth.session_token=${'a'.repeat(4000)}`,
    ';;;=;',
  ])('that is invalid (%.40s) is ignored', async (cookie) => {
    const answer = await supertest(service.url)
      .get(`/auth/desktop-handoff?client_state=${STATE}`)
      .set('Cookie', cookie);
    expect(answer.status).toBe(200);
    expect(formsOf(answer).map(({ label }) => label)).toEqual(['Sign in', 'Sign up']);
  });

  it('is needed to be signed in on the pages: a bearer is ignored', async () => {
    const { body } = await supertest(service.url)
      .post('/api/auth/sign-in/email')
      .set('Origin', BASE_URL)
      .send(ACCOUNT)
      .expect(200);
    const answer = await supertest(service.url)
      .get(`/auth/desktop-handoff?client_state=${STATE}`)
      .set('Authorization', `Bearer ${body.token}`);
    expect(formsOf(answer).map(({ label }) => label)).toEqual(['Sign in', 'Sign up']);
  });
});
