import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { freePort } from '../../../bench/free-port.js';
import {
  describeWithBrowser,
  expectAccessible,
  expectFits,
  openBrowser,
  pageOf,
  SIZES,
} from '../../kit/browser.js';
import { startService, type TestService } from '../../kit/index.js';
import { OidcProvider } from '../../kit/oidc-provider.js';

const STATE = 'client_state=a-state-of-the-app_0123456789';

describeWithBrowser('single sign-on in a browser', () => {
  let provider: OidcProvider;
  let service: TestService;
  let browser: Browser;
  let editor: Server;
  let callback: string;
  beforeAll(async () => {
    editor = createServer((_, response) => response.end('<!doctype html><title>The editor</title>'));
    await once(editor.listen(0, 'localhost'), 'listening');
    callback = `http://localhost:${(editor.address() as AddressInfo).port}/callback`;
    const port = await freePort();
    const serviceUrl = `http://127.0.0.1:${port}`;
    provider = await OidcProvider.start({ serviceUrl });
    const env = { ...provider.env, EDITOR_CALLBACK_URL: callback };
    service = await startService({ port, env });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await service.close();
    provider.close();
    editor.closeAllConnections();
    editor.close();
  });

  async function visit(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const page = await pageOf(await browser.newContext({ baseURL: service.url, ...options }));
    await page.goto(path);
    return page;
  }

  /** Signs in at the provider, from the button on. */
  async function goThrough(page: Page, name: string): Promise<void> {
    const { sub } = provider.person(name);
    await page.getByRole('button', { name: 'Continue with Our Login' }).click();
    await page.getByLabel('Who are you?').fill(sub);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  }

  describe.each(SIZES)('%s', (_, viewport) => {
    it.each(['light', 'dark'] as const)('the pages are accessible, %s', async (colorScheme) => {
      const page = await visit('/account', { viewport, colorScheme });
      await expectAccessible(page);
      await expectFits(page);
      await page.goto('/auth/single-sign-on/callback?state=unknown');
      await page.getByText('This sign-in is over').waitFor();
      await expectAccessible(page);
      await expectFits(page);
      await page.context().close();
    });

    it('the account page redirects to the provider and back', async () => {
      const page = await visit('/account', { viewport });
      await goThrough(page, `reader-${viewport.width}`);
      await page.waitForURL(`${service.url}/account`);
      await page.getByRole('heading', { name: `reader-${viewport.width}` }).waitFor();
      await page.context().close();
    });
  });

  it.each([true, false])(
    'the web handoff continues to the editor, with scripts: %s',
    async (javaScriptEnabled) => {
      const page = await visit(`/auth/web-handoff?${STATE}&return_to=${encodeURIComponent(callback)}`, {
        javaScriptEnabled,
      });
      await goThrough(page, `writer-${javaScriptEnabled}`);
      await page.getByRole('button', { name: 'Continue as' }).click();
      await page.waitForURL((url) => url.href.startsWith(`${callback}?token=`));
      await page.context().close();
    },
  );

  it('works when the provider redirects through another host', async () => {
    provider.faults.set('/auth', 'elsewhere'); // as with a provider that forwards to the login of a company
    const page = await visit('/account');
    await goThrough(page, 'far');
    await page.waitForURL(`${service.url}/account`);
    provider.faults.clear();
    await page.context().close();
  });

  it('a person who cancels can start again', async () => {
    const page = await visit(`/auth/desktop-handoff?${STATE}`);
    await page.getByRole('button', { name: 'Continue with Our Login' }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('alert').getByText('has not confirmed the sign-in').waitFor();
    await page.getByRole('link', { name: 'Start again' }).click();
    await page.getByRole('button', { name: 'Continue with Our Login' }).waitFor();
    await page.context().close();
  });
});
