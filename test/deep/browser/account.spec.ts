import type { Browser, Page } from 'playwright-core';
import supertest from 'supertest';
import {
  describeWithBrowser,
  expectAccessible,
  expectFits,
  openBrowser,
  outline,
  pageOf,
  SIZES,
} from '../../kit/browser.js';
import { startService, type TestService } from '../../kit/index.js';

const PASSWORD = 'correct horse battery staple';

describeWithBrowser('the account page in a browser', () => {
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

  /** A new person with an account, a workspace and a device. */
  async function person(): Promise<string> {
    const name = `person-${++people}`;
    const email = `${name}@example.org`;
    await supertest(service.url)
      .post('/api/auth/sign-up/email')
      .set('Origin', service.url)
      .send({ email, password: PASSWORD, name })
      .expect(200);
    const user = await service.user(name);
    await user.workspace('Notes');
    await user.post('/api/v1/devices').send({ name: 'Laptop', platform: 'linux' }).expect(201);
    return email;
  }
  let people = 0;

  describe.each(SIZES)('%s', (_, viewport) => {
    it.each(['light', 'dark'] as const)(
      '%s: a token is created, copied and revoked, on accessible pages',
      async (colorScheme) => {
        const permissions = ['clipboard-read', 'clipboard-write'];
        const context = await browser.newContext({
          baseURL: service.url,
          viewport,
          colorScheme,
          permissions,
        });
        const page = await pageOf(context);
        await page.goto('/account');
        await expectAccessible(page);
        await signIn(page, await person());
        await page.getByRole('heading', { name: 'Plan and storage' }).waitFor();
        await expectFits(page);

        await page.getByText('New token').click();
        await expectAccessible(page);
        await page.getByRole('textbox', { name: 'Name' }).fill('Robot');
        await page.getByRole('button', { name: 'Create token' }).click();
        await page.getByText('Choose at least one permission.').waitFor();
        await expectAccessible(page);
        await page.getByLabel('Read notes, history').check();
        await page.getByLabel('Workspace', { exact: true }).selectOption('Notes');
        await page.getByRole('button', { name: 'Create token' }).click();
        await page.getByText('it is not shown again').waitFor();
        await expectAccessible(page);
        await expectFits(page);
        await page.getByRole('button', { name: 'Copy' }).click();
        await page.getByRole('button', { name: 'Copied' }).waitFor();
        expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^pat_[\w-]{43}$/);

        await page.getByRole('button', { name: 'Revoke Robot' }).click();
        await page.getByRole('button', { name: 'Revoke Robot' }).waitFor({ state: 'detached' });
        await context.close();
      },
    );
  });

  describe('without navigator.clipboard, as on http', () => {
    /** A user with a new token; the browser runs `before` ahead of the script of the page. */
    async function tokenMaker(before: () => void) {
      const context = await browser.newContext({ baseURL: service.url, viewport: SIZES[1][1] });
      const page = await pageOf(context);
      await page.addInitScript(before);
      await page.goto('/account');
      await signIn(page, await person());
      await page.getByText('New token').click();
      await page.getByRole('textbox', { name: 'Name' }).fill('Robot');
      await page.getByLabel('Read notes, history').check();
      await page.getByRole('button', { name: 'Create token' }).click();
      const token = page.locator('#new-token');
      return { context, page, token, fault: page.getByText('Your browser could not copy the text') };
    }

    it('a token can still be copied', async () => {
      const { context, page, token, fault } = await tokenMaker(() => {
        Object.defineProperty(navigator, 'clipboard', { value: undefined });
      });
      await page.getByRole('button', { name: 'Copy' }).click();
      await page.getByRole('button', { name: 'Copied' }).waitFor();
      expect(await fault.isVisible()).toBe(false);
      await page.getByText('New token', { exact: true }).click();
      await page.getByRole('textbox', { name: 'Name' }).press('Control+V');
      expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe(await token.inputValue());
      await context.close();
    });

    it('a token that could not be copied is not reported as copied, and stays selected', async () => {
      const { context, page, token, fault } = await tokenMaker(() => {
        Object.defineProperty(navigator, 'clipboard', { value: undefined });
        Object.defineProperty(document, 'execCommand', { value: () => false });
      });
      await page.getByRole('button', { name: 'Copy' }).click();
      await fault.waitFor();
      expect(await page.getByRole('button', { name: 'Copied' }).count()).toBe(0);
      expect(await page.evaluate(() => getSelection()?.toString())).toBe(await token.inputValue());
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await expectAccessible(page);
      }
      await expectFits(page);
      await context.close();
    });
  });

  it('works without scripts and with only the keyboard', async () => {
    const email = await person();
    const context = await browser.newContext({ baseURL: service.url, javaScriptEnabled: false });
    const page = await pageOf(context);
    await page.goto('/account');
    await page.locator('#sign-in-email:focus').waitFor();
    await page.keyboard.type(email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    const remove = page.getByRole('button', { name: 'Remove Laptop' });
    await remove.waitFor();
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press('Tab');
      if (await remove.evaluate((button) => button === document.activeElement)) break;
    }
    expect(await outline(page)).toBe('3px');
    await page.keyboard.press('Enter');
    await page.getByText('No device is registered').waitFor();

    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
    await context.close();
  });
});

async function signIn(page: Page, email: string): Promise<void> {
  await page.getByLabel('Email address').first().fill(email);
  await page.getByLabel('Password').first().fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}
