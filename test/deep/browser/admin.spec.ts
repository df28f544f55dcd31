import type { Browser, BrowserContext, Page } from 'playwright-core';
import { Invitations } from '../../../src/domain/accounts/index.js';
import {
  describeWithBrowser,
  expectAccessible,
  expectFits,
  openBrowser,
  outline,
  pageOf,
  SIZES,
} from '../../kit/browser.js';
import {
  administratorAt,
  PASSWORD,
  type Person,
  personAt,
  signedInByFactor,
} from '../../kit/administrators.js';
import { startService, type TestService } from '../../kit/index.js';

/** Complements the tour, which visits every page of an administrator and acts on accounts. */
describeWithBrowser('the admin page in a browser', () => {
  let service: TestService;
  let browser: Browser;
  let administrator: Person;
  beforeAll(async () => {
    service = await startService({ isAtBaseUrl: true });
    browser = await openBrowser();
    administrator = await administratorAt(service, 'administrator');
  });
  afterAll(async () => {
    await browser.close();
    await service.close();
  });

  async function signIn(page: Page, email: string): Promise<void> {
    await page.goto('/account');
    await page.getByLabel('Email address').first().fill(email);
    await page.getByLabel('Password').first().fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'Plan and storage' }).waitFor();
  }

  async function signedIn(options: Parameters<Browser['newContext']>[0]): Promise<[BrowserContext, Page]> {
    const context = await browser.newContext({ baseURL: service.url, ...options });
    const page = await pageOf(context);
    await signIn(page, administrator.email);
    await signedInByFactor(service, administrator);
    return [context, page];
  }

  async function expectGood(page: Page): Promise<void> {
    await expectAccessible(page);
    await expectFits(page);
  }

  it('asks for the password after ten minutes, and continues where it was', async () => {
    const [context, page] = await signedIn({ viewport: SIZES[1][1] });
    service.clock.advance(11 * 60_000);
    try {
      await page.goto('/admin/audit?user=administrator');
      await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor();
      await expectGood(page);
      await page.getByLabel('Your password').fill('not the password');
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByText('This is not your password.').waitFor();
      await expectGood(page);
      await page.getByLabel('Your password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByRole('heading', { name: 'Audit log' }).waitFor();
      expect(new URL(page.url()).search).toBe('?user=administrator');
    } finally {
      service.clock.advance(-11 * 60_000);
    }
    await context.close();
  });

  it('works without scripts and with only the keyboard', async () => {
    const { id } = await personAt(service, 'keyboard');
    const [context, page] = await signedIn({ javaScriptEnabled: false });
    await page.goto(`/admin/accounts/${id}`);
    const suspend = page.getByRole('button', { name: 'Suspend' });
    for (let presses = 0; presses < 12; presses++) {
      await page.keyboard.press('Tab');
      if (await suspend.evaluate((button) => button === document.activeElement)) break;
    }
    expect(await outline(page)).toBe('3px');
    await page.keyboard.press('Enter');
    await page.getByText('The account is suspended.').waitFor();
    await context.close();
  });

  it('an invitation is accepted without scripts, and its pages are accessible', async () => {
    const { link } = await service.app.get(Invitations).invite('guest@example.org', { actor: 'operator' });
    for (const colorScheme of ['light', 'dark'] as const) {
      const context = await browser.newContext({ viewport: SIZES[1][1], colorScheme });
      const page = await pageOf(context);
      await page.goto(link);
      await expectGood(page);
      await context.close();
    }
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await pageOf(context);
    await page.goto(link);
    await page.locator('#name:focus').waitFor();
    await page.keyboard.type('Guest');
    await page.keyboard.press('Tab');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Guest' }).waitFor();
    await page.goto(link);
    await page.getByRole('heading', { name: 'This invitation does not work' }).waitFor();
    await context.close();
  });
});
