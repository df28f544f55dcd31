import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import supertest from 'supertest';
import { describeWithBrowser, openBrowser, pageOf } from '../../kit/browser.js';
import { startService, type TestService } from '../../kit/index.js';

const ADA = { email: 'ada@example.org', password: 'correct horse battery staple', name: 'Ada Lovelace' };

/** A response as a script of a page sees it. */
interface Got {
  readonly status: number;
  readonly body: unknown;
}

interface Options {
  readonly method?: string;
  readonly credentials?: 'include' | 'omit';
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

async function signIn(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/account`);
  await page.getByLabel('Email address').first().fill(ADA.email);
  await page.getByLabel('Password').first().fill(ADA.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await isSignedIn(page);
}

const isSignedIn = (page: Page): Promise<void> =>
  page.getByRole('heading', { name: 'Plan and storage' }).waitFor();

/** A host name that browsers do not trust, so that they send no `Sec-Fetch-…` headers. */
const NAS = 'nas.lan';

describeWithBrowser('a browser that is signed in to the service', () => {
  let editor: Server;
  let editorOrigin: string;
  let service: TestService;
  let origin: string;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    // Another port is another origin of the same site, from which browsers send `Lax` cookies.
    editor = createServer((_request, response) =>
      response.setHeader('content-type', 'text/html').end('editor'),
    );
    editor.listen(0, '127.0.0.1');
    await once(editor, 'listening');
    editorOrigin = `http://localhost:${(editor.address() as AddressInfo).port}`;
    service = await startService({
      isAtBaseUrl: true,
      hostname: 'localhost',
      env: { TRUSTED_ORIGINS: editorOrigin },
    });
    origin = service.url.replace('127.0.0.1', 'localhost');
    await supertest(service.url).post('/api/auth/sign-up/email').send(ADA).expect(200);
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await service.close();
    editor.close();
  });
  beforeEach(async () => {
    context = await browser.newContext();
    page = await pageOf(context);
    await signIn(page, origin);
  });
  afterEach(() => context.close());

  /** A request by a script of the open page. Rejects where the browser hides the response. */
  const fetched = (action: string, options: Options): Promise<Got> =>
    page.evaluate(
      async ([url, init]) => {
        const answer = await fetch(url, init);
        return { status: answer.status, body: (await answer.json()) as unknown };
      },
      [`${origin}/api/auth/${action}`, options] as const,
    );

  const post = (body: object, credentials: 'include' | 'omit'): Options => ({
    method: 'POST',
    credentials,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

  const cookies = async (): Promise<string[]> =>
    (await context.cookies(origin)).map(({ name, value }) => `${name}=${value}`).sort();

  it('gives a page of a trusted origin no access to the account by cookies', async () => {
    const before = await cookies();
    expect(before.join()).toContain('session_token');
    await page.goto(editorOrigin);
    await expect(fetched('get-session', { credentials: 'include' })).rejects.toThrow('Failed to fetch');
    expect(await fetched('get-session', {})).toEqual({ status: 200, body: null });
    for (const action of ['sign-out', 'revoke-other-sessions', 'sign-in/email'])
      await expect(fetched(action, post(ADA, 'include'))).rejects.toThrow('Failed to fetch');
    expect(await cookies()).toEqual(before);
    await page.goto(`${origin}/account`);
    await isSignedIn(page);
    expect(await fetched('get-session', {})).toMatchObject({
      status: 200,
      body: { user: { email: ADA.email } },
    });
  });

  it('lets a page of a trusted origin use its own session as a bearer', async () => {
    const before = await cookies();
    await page.goto(editorOrigin);
    const { status, body } = await fetched('sign-in/email', post(ADA, 'omit'));
    expect(status).toBe(200);
    const { token } = body as { token: string };
    const bearer = { headers: { authorization: `Bearer ${token}` } };
    expect(await fetched('get-session', bearer)).toMatchObject({ body: { session: { token } } });
    expect(await cookies()).toEqual(before);
  });

  it('stays signed in when it follows a link from another origin', async () => {
    await page.goto(editorOrigin);
    await page.setContent(`<a href="${origin}/account">account</a>`);
    await page.getByRole('link', { name: 'account' }).click();
    await isSignedIn(page);
  });
});

describeWithBrowser('a browser at a service without https', () => {
  it('can use the pages although it sends no Sec-Fetch-Site', async () => {
    const service = await startService({ isAtBaseUrl: true, hostname: NAS });
    const browser = await openBrowser(`--host-resolver-rules=MAP ${NAS} 127.0.0.1`);
    try {
      const { port } = new URL(service.url);
      await supertest(service.url).post('/api/auth/sign-up/email').send(ADA).expect(200);
      const page = await pageOf(await browser.newContext());
      const sites: (string | undefined)[] = [];
      page.on('request', (request) => {
        if (request.isNavigationRequest())
          void request.allHeaders().then((headers) => sites.push(headers['sec-fetch-site']));
      });
      const nas = `http://${NAS}:${port}`;
      await signIn(page, nas);
      await page.goto(`${nas}/account`);
      await isSignedIn(page);
      expect(new Set(sites)).toEqual(new Set([undefined]));
      await page.getByRole('button', { name: 'Sign out', exact: true }).click();
      await page.getByLabel('Email address').first().waitFor();
    } finally {
      await browser.close();
      await service.close();
    }
  });
});
