import type { Browser, BrowserContext, Page } from 'playwright-core';
import { UnsubscribeLinks } from '../../../src/domain/accounts/notices/index.js';
import {
  describeWithBrowser,
  expectAccessible,
  expectFits,
  openBrowser,
  outline,
  pageOf,
  SIZES,
} from '../../kit/browser.js';
import { eventually, startService, type TestService } from '../../kit/index.js';
import { TestSmtp } from '../../kit/smtp.js';

const PASSWORD = 'correct horse battery staple';
const NEW_PASSWORD = 'another battery staple';

describeWithBrowser('the pages of mails in a browser', () => {
  let smtp: TestSmtp;
  let service: TestService;
  let browser: Browser;
  beforeAll(async () => {
    smtp = await TestSmtp.start({ isPlain: true });
    service = await startService({ isAtBaseUrl: true, env: smtp.env });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await service.close();
    await smtp.goAway();
  });

  let people = 0;

  /** The link in the newest mail of a subject to an address. */
  const linkIn = (email: string, subject: string): Promise<string> =>
    eventually(() => {
      const mail = smtp
        .to(email)
        .filter(({ headers }) => headers.subject === subject)
        .at(-1);
      return /\n(http\S+\?token=\S+)\n/.exec(mail?.text ?? '')![1]!;
    });

  /** Checks accessibility in light and dark, and overflow; both need scripts in the page. */
  async function check(page: Page, hasScript: boolean): Promise<void> {
    if (!hasScript) return;
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await expectAccessible(page);
    }
    await expectFits(page);
  }

  const heading = (page: Page, name: string): Promise<void> =>
    page.getByRole('heading', { name, exact: true }).waitFor();

  async function signUp(page: Page, email: string): Promise<void> {
    await page.goto('/account');
    await page.getByText('New here?').click();
    const form = page.getByRole('form', { name: 'Sign up' });
    await form.getByLabel('Name').fill('Ada');
    await form.getByLabel('Email address').fill(email);
    await form.getByLabel('Password').fill(PASSWORD);
    await form.getByRole('button').click();
    await heading(page, 'Check your mail');
  }

  describe.each([
    ['with script', true],
    ['without script', false],
  ] as const)('%s', (_, javaScriptEnabled) => {
    describe.each(SIZES)('%s', (_, viewport) => {
      let context: BrowserContext;
      let page: Page;
      let email: string;
      beforeEach(async () => {
        context = await browser.newContext({ baseURL: service.url, viewport, javaScriptEnabled });
        page = await pageOf(context);
        email = `mail-${++people}@example.org`;
      });
      afterEach(() => context.close());

      it('an address is confirmed, a password replaced and an address changed', async () => {
        await signUp(page, email);
        await check(page, javaScriptEnabled);
        await page.getByRole('button', { name: 'Send another mail' }).click();
        await page.getByText('another mail is on its way').waitFor();
        await check(page, javaScriptEnabled);
        await eventually(() => expect(smtp.to(email)).toHaveLength(2));

        const confirm = await linkIn(email, 'Confirm your email address');
        await page.goto(confirm);
        await heading(page, 'Confirm your address');
        expect(page.url()).toBe(`${service.url}/account/verify`);
        await check(page, javaScriptEnabled);
        await page.getByLabel('Password of the account').fill(PASSWORD);
        await page.getByRole('button', { name: 'Confirm the address' }).click();
        await heading(page, 'Your address is confirmed');
        await check(page, javaScriptEnabled);
        await page.goto(confirm);
        await heading(page, 'This link does not work any more');
        await check(page, javaScriptEnabled);

        await page.goto('/account/forgot');
        await check(page, javaScriptEnabled);
        await page.getByLabel('Email address').fill(email);
        await page.keyboard.press('Enter');
        await heading(page, 'Check your mail');
        await check(page, javaScriptEnabled);
        const reset = await linkIn(email, 'Choose a new password');
        await page.goto(reset);
        await heading(page, 'Choose a new password');
        expect(page.url()).toBe(`${service.url}/account/reset`);
        await check(page, javaScriptEnabled);
        await page.getByLabel('New password', { exact: true }).fill('short');
        await page.keyboard.press('Enter');
        await page.getByText('at least 10 characters').last().waitFor();
        await check(page, javaScriptEnabled);
        await page.getByLabel('New password', { exact: true }).fill(NEW_PASSWORD);
        await page.keyboard.press('Enter');
        await heading(page, 'Your password is changed');
        await check(page, javaScriptEnabled);
        await page.goto(reset);
        await heading(page, 'This link does not work any more');
        await check(page, javaScriptEnabled);

        await page.goto('/account');
        await page.getByLabel('Email address').first().fill(email);
        await page.getByLabel('Password').first().fill(NEW_PASSWORD);
        await page.getByRole('button', { name: 'Sign in', exact: true }).click();
        await page.getByText('Change address').click();
        await page.getByLabel('New email address').fill(`new-${email}`);
        await page.keyboard.press('Enter');
        await page.getByText('is on its way to the new address').waitFor();
        await page.goto(await linkIn(`new-${email}`, 'Confirm your new email address'));
        await heading(page, 'Confirm your address');
        await check(page, javaScriptEnabled);
        await page.getByRole('button', { name: 'Confirm the address' }).click();
        await heading(page, 'Your address is confirmed');
      });

      it('a kind of mail is turned off by its link, with the keyboard', async () => {
        const name = `notices-${people}`;
        const { id } = await service.newcomer(name);
        const link = service.app.get(UnsubscribeLinks).linkFor({ userId: id, notice: 'payment-failed' });
        await page.goto(link);
        await heading(page, 'Turn off mails');
        await check(page, javaScriptEnabled);
        const off = page.getByRole('button', { name: 'Turn these mails off' });
        for (let presses = 0; presses < 20; presses++) {
          await page.keyboard.press('Tab');
          if (await off.evaluate((button) => button === document.activeElement)) break;
        }
        expect(await outline(page)).toBe('3px');
        await page.keyboard.press('Enter');
        await heading(page, 'These mails are off');
        await check(page, javaScriptEnabled);
        await page.goto(`${service.url}/account/unsubscribe?token=cut.off`);
        await heading(page, 'This link does not work');
        await check(page, javaScriptEnabled);
      });

      it('mails are chosen on the account page', async () => {
        await signUp(page, email);
        await service.database.query('UPDATE users SET email_verified = true WHERE email = $1', [email]);
        await page.goto('/account');
        await page.getByLabel('Email address').first().fill(email);
        await page.getByLabel('Password').first().fill(PASSWORD);
        await page.getByRole('button', { name: 'Sign in', exact: true }).click();
        const trial = page.getByLabel('a trial that ends in three days');
        expect(await trial.isChecked()).toBe(true);
        await trial.focus();
        await page.keyboard.press('Space');
        await page.keyboard.press('Enter');
        await page.getByText('Your choice of mails has been saved.').waitFor();
        expect(await trial.isChecked()).toBe(false);
        expect(await page.getByLabel('a payment that failed').isChecked()).toBe(true);
        await check(page, javaScriptEnabled);
        await trial.check();
        await page.getByRole('button', { name: 'Save the choice' }).click();
        await page.getByText('Your choice of mails has been saved.').waitFor();
        expect(await trial.isChecked()).toBe(true);
      });
    });
  });
});
