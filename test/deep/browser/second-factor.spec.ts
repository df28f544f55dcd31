import type { Browser, Page } from 'playwright-core';
import supertest from 'supertest';
import {
  describeWithBrowser,
  expectAccessible,
  expectFits,
  focused,
  openBrowser,
  pageOf,
  SIZES,
} from '../../kit/browser.js';
import { startService, type TestService } from '../../kit/index.js';
import { codesOf, STEP_MS } from '../../kit/second-factor.js';

const PASSWORD = 'correct horse battery staple';
const HANDOFF = '/auth/desktop-handoff?client_state=a-state-of-the-app_0123456789';

describeWithBrowser('the second factor in a browser', () => {
  let service: TestService;
  let browser: Browser;
  beforeAll(async () => {
    service = await startService({ isAtBaseUrl: true });
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
      .set('Origin', service.url)
      .send({ email, password: PASSWORD, name: 'Ada' })
      .expect(200);
    return email;
  }

  async function signIn(page: Page, email: string): Promise<void> {
    await page.getByLabel('Email address').first().fill(email);
    await page.getByLabel('Password').first().fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  }

  describe.each([
    ['with script', true, 'light', 0],
    ['without script', false, 'dark', 1],
  ] as const)('%s', (_, javaScriptEnabled, colorScheme, size) => {
    it('is set up, asked for at a handoff, replaced by a backup code and turned off', async () => {
      const options = { baseURL: service.url, colorScheme, viewport: SIZES[size][1], javaScriptEnabled };
      let context = await browser.newContext(options);
      let page = await pageOf(context);
      const check = async (): Promise<void> => {
        if (!javaScriptEnabled) return; // the checks need scripts
        await expectAccessible(page);
        await expectFits(page);
      };
      const email = await person();
      await page.goto('/account');
      await signIn(page, email);
      await page.getByText('Set up the second factor').click();
      await page.getByRole('button', { name: 'Begin' }).click();
      await page.getByRole('img', { name: 'QR code' }).waitFor();
      await check();
      const code = codesOf(service, await page.locator('input[name=uri]').inputValue());
      await page.getByLabel('Code that the app shows').fill(code());
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Your backup codes' }).waitFor();
      const backupCodes = await page.locator('li.code').allTextContents();
      expect(backupCodes).toHaveLength(10);
      await check();
      await page.getByRole('link', { name: 'I have saved them' }).click();
      await page.getByText('10 backup codes are left').waitFor();
      await check();
      await page.getByRole('button', { name: 'Sign out', exact: true }).click();

      service.clock.advance(STEP_MS);
      await page.goto(HANDOFF);
      await signIn(page, email);
      await page.getByLabel('Code from your authenticator app').waitFor();
      if (javaScriptEnabled) expect(await focused(page)).toBe('sign-in-code');
      await check();
      await page.keyboard.type('000000');
      await page.keyboard.press('Enter');
      await page.getByText('This code is wrong').waitFor();
      await check();
      await page.getByLabel('Code from your authenticator app').fill(code());
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'You are signed in' }).waitFor();

      // Another window, as the prompt to open the app would take the keys of this one.
      await context.close();
      context = await browser.newContext(options);
      page = await pageOf(context);
      await page.goto('/account');
      await signIn(page, email);
      await page.getByText('Use a backup code').click();
      await page.getByLabel('Backup code', { exact: true }).fill(backupCodes[3]!);
      await page.keyboard.press('Enter');
      await page.getByText('9 backup codes are left').waitFor();
      await page.getByText('Turn it off').click();
      await page.getByRole('button', { name: 'Turn off the second factor' }).click();
      await page.getByText('The second factor is off.').waitFor();
      await context.close();
    });
  });
});
