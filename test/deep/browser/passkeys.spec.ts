import type { Browser, BrowserContext, Page } from 'playwright-core';
import supertest from 'supertest';
import {
  describeWithBrowser,
  expectAccessible,
  expectFits,
  openBrowser,
  pageOf,
  SIZES,
} from '../../kit/browser.js';
import { startService, type TestService } from '../../kit/index.js';

const PASSWORD = 'correct horse battery staple';
const HANDOFF = '/auth/desktop-handoff?client_state=a-state-of-the-app_0123456789';

/** Chromium's own virtual authenticator: a device with a PIN or a fingerprint, which may fail. */
async function addAuthenticator(page: Page, isUserVerified = true) {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified,
      automaticPresenceSimulation: true,
    },
  });
  return {
    setUserVerified: (value: boolean) =>
      session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: value }),
  };
}

describeWithBrowser('passkeys in a browser', () => {
  let service: TestService;
  let browser: Browser;
  let origin: string;
  beforeAll(async () => {
    // A passkey needs a host name, not an IP address.
    service = await startService({ isAtBaseUrl: true, hostname: 'localhost' });
    origin = service.url.replace('127.0.0.1', 'localhost');
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await service.close();
  });

  let people = 0;
  async function person(): Promise<string> {
    const email = `person-${++people}@example.org`;
    await supertest(service.url)
      .post('/api/auth/sign-up/email')
      .set('Origin', origin)
      .send({ email, password: PASSWORD, name: 'Ada' })
      .expect(200);
    return email;
  }

  async function signIn(page: Page, email: string): Promise<void> {
    await page.goto('/account');
    await page.getByLabel('Email address').first().fill(email);
    await page.getByLabel('Password').first().fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  }

  async function add(page: Page, name: string): Promise<void> {
    await page.getByText('Add a passkey', { exact: true }).click();
    await page.getByRole('form', { name: 'Add a passkey' }).getByLabel('Name').fill(name);
    await page.keyboard.press('Enter');
  }

  const contextOf = (more: object = {}): Promise<BrowserContext> =>
    browser.newContext({ baseURL: origin, ...more });

  it.each(SIZES)(
    '%s: one is added, signs in at /account and in a handoff, and is removed',
    async (_, viewport) => {
      const context = await contextOf({ viewport });
      const page = await pageOf(context);
      await addAuthenticator(page);
      const email = await person();
      await signIn(page, email);
      await add(page, 'Laptop');
      await page.getByRole('button', { name: 'Remove passkey Laptop' }).waitFor();
      await expectAccessible(page);
      await expectFits(page);
      await page.getByRole('button', { name: 'Sign out', exact: true }).click();

      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await page.getByRole('heading', { name: 'Ada' }).waitFor();
      await page.getByRole('button', { name: 'Sign out', exact: true }).click();

      await page.goto(HANDOFF);
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
      await page.getByRole('button', { name: 'Continue as Ada' }).click();
      await page.getByRole('heading', { name: 'You are signed in' }).waitFor();

      // Another tab, as this one may show the prompt to open the app.
      const tab = await pageOf(context);
      await tab.goto('/account');
      await tab.getByRole('button', { name: 'Remove passkey Laptop' }).click();
      await tab.getByRole('button', { name: 'Remove passkey Laptop' }).waitFor({ state: 'detached' });
      await context.close();
    },
  );

  it('show an error when the user is not verified and when the passkey was removed', async () => {
    const context = await contextOf();
    const page = await pageOf(context);
    const authenticator = await addAuthenticator(page);
    const email = await person();
    await signIn(page, email);
    await add(page, 'Laptop');
    await page.getByRole('button', { name: 'Remove passkey Laptop' }).waitFor();
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();

    await authenticator.setUserVerified(false);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('The passkey was not used. Try again.').waitFor();
    await authenticator.setUserVerified(true);
    await service.database.query('DELETE FROM auth_passkeys');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('This passkey is not known here.').waitFor();
    await expectAccessible(page);
    await context.close();
  });

  it('are not offered without script, which the page explains', async () => {
    const context = await contextOf({ javaScriptEnabled: false });
    const page = await pageOf(context);
    await page.goto('/account');
    expect(await page.getByRole('button', { name: 'Sign in with a passkey' }).count()).toBe(0);
    await page.getByText('Signing in with a passkey needs JavaScript.').waitFor();
    await signIn(page, await person());
    await page.getByText('Add a passkey', { exact: true }).click();
    await page.getByText('Adding a passkey needs JavaScript and HTTPS.').waitFor();
    expect(await page.getByRole('button', { name: 'Add the passkey' }).count()).toBe(0);
    await context.close();
  });
});
