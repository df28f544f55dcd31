import supertest from 'supertest';
import { BASE_URL, startService, type TestService } from '../../kit/index.js';
import { formOf, Visitor } from '../../kit/visitor.js';
import { type Route, ROUTES } from '../../kit/routes/route-table.js';

/** Answers of forms that no other test asks for; test/kit compares each with the document. */
const EDITOR = 'https://editor.example.org/callback';
const STATE = 'a-state-of-the-app_0123456789';
const PASSWORD = 'correct horse battery staple';
const WEB = `/auth/web-handoff?client_state=${STATE}&return_to=${encodeURIComponent(EDITOR)}`;

/** All forms but those that are 404 for a stranger and that of a signed link, which needs no page. */
const FORMS: readonly Route[] = ROUTES.filter(
  ({ isPage, method, path, status }) =>
    isPage && method === 'POST' && status !== 404 && path !== '/account/unsubscribe',
);

let service: TestService;
beforeAll(async () => {
  service = await startService({
    env: {
      EDITOR_CALLBACK_URL: EDITOR,
      SMTP_URL: 'smtp://127.0.0.1:9', // nothing listens there
      MAIL_FROM: 'sync@example.org',
      EMAIL_VERIFICATION: 'optional',
      SUBSCRIPTIONS: 'off',
      STRIPE_SECRET_KEY: 'sk_test_key',
      STRIPE_PRICE_ID: 'price_1',
    },
  });
});
afterAll(() => service.close());

async function signedIn(name: string): Promise<Visitor> {
  const email = `${name}@example.org`;
  const credentials = { email, password: PASSWORD };
  await supertest(service.url)
    .post('/api/auth/sign-up/email')
    .set('Origin', BASE_URL)
    .send({ ...credentials, name })
    .expect(200);
  const browser = new Visitor(service.url);
  const answer = await browser.submit(await browser.get('/account'), 'Sign in', credentials);
  expect(answer.status).toBe(303);
  return browser;
}

async function tokenOf(browser: Visitor): Promise<string> {
  return formOf(await browser.get('/account'), 'Sign out').values['csrf_token'] ?? '';
}

describe.each(FORMS)('POST $path', ({ path }) => {
  it('is 415 without a form, and 400 for one with NUL', async () => {
    const post = (type: string, body: string) =>
      supertest(service.url).post(path).set('Content-Type', type).send(body);
    expect((await post('text/plain', 'a=b')).status).toBe(415);
    expect((await post('application/x-www-form-urlencoded', 'a=%00')).status).toBe(400);
  });

  it('is 403 without the token of a page', async () => {
    const fields = { client_state: STATE, return_to: EDITOR, intent: 'sign-in' };
    const { scheme } = formOf(
      await new Visitor(service.url).get(`/auth/desktop-handoff?client_state=${STATE}`),
      'Sign in',
    ).values;
    const all = path.includes('desktop') ? { client_state: STATE, scheme: scheme ?? '' } : fields;
    const answer = await new Visitor(service.url).post(path, Object.entries(all));
    expect(answer.status).toBe(403);
  });
});

describe('the form of the web handoff', () => {
  it('is shown again with 422 for a wrong password', async () => {
    const browser = new Visitor(service.url);
    const page = await browser.get(WEB);
    const filledIn = { email: 'nobody@example.org', password: 'wrong password' };
    expect((await browser.submit(page, 'Sign in', filledIn)).status).toBe(422);
  });
});

describe('the forms of the account page', () => {
  it('are 404 for an unknown workspace or token', async () => {
    const browser = await signedIn('ada');
    const absent = '00000000-0000-4000-8000-000000000000';
    const csrf = ['csrf_token', await tokenOf(browser)] as const;
    const ofWorkspace = [
      csrf,
      ['name', 'x'],
      ['scopes', 'full'],
      ['workspace', absent],
      ['expiry', 'never'],
    ] as const;
    for (const [path, fields] of [
      ['/account/tokens', ofWorkspace],
      ['/account/tokens/revoke', [csrf, ['id', absent]]],
      ['/account/sessions/end', [csrf, ['id', absent]]],
      ['/account/devices/remove', [csrf, ['id', absent]]],
    ] as const)
      expect([path, (await browser.post(path, fields)).status]).toEqual([path, 404]);
  });

  it('are 409 for billing when subscriptions are off', async () => {
    const browser = await signedIn('eve');
    const answer = await browser.post('/account/billing', [['csrf_token', await tokenOf(browser)]]);
    expect(answer.status).toBe(409);
  });
});
