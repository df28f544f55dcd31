import type { Browser, BrowserContext, Page } from 'playwright-core';
import { describeWithBrowser, expectAccessible, expectFits, openBrowser, pageOf, SIZES } from './browser.js';
import { eventually, startService, type TestService } from './index.js';
import { TestSmtp } from './smtp.js';

export const PASSWORD = 'correct horse battery staple';

/** Declares the tests with and without script, on each size of a screen. */
export function describeMailPages(tests: (mails: MailPages) => void): void {
  describeWithBrowser('the pages of mails in a browser', () => {
    const mails = new MailPages();
    beforeAll(() => mails.open());
    afterAll(() => mails.close());

    describe.each([
      ['with script', true],
      ['without script', false],
    ] as const)('%s', (_, hasScript) => {
      describe.each(SIZES)('%s', (_, viewport) => {
        beforeEach(() => mails.beginTest(hasScript, viewport));
        afterEach(() => mails.endTest());
        tests(mails);
      });
    });
  });
}

/** A service with a mail server, and for each test a page in a browser and the address of somebody new. */
export class MailPages {
  smtp!: TestSmtp;
  service!: TestService;
  page!: Page;
  email!: string;
  people = 0;
  private browser!: Browser;
  private context!: BrowserContext;
  private hasScript = true;

  async open(): Promise<void> {
    this.smtp = await TestSmtp.start({ isPlain: true });
    this.service = await startService({ isAtBaseUrl: true, env: this.smtp.env });
    this.browser = await openBrowser();
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.service.close();
    await this.smtp.goAway();
  }

  async beginTest(hasScript: boolean, viewport: (typeof SIZES)[number][1]): Promise<void> {
    this.hasScript = hasScript;
    const look = { viewport, javaScriptEnabled: hasScript };
    this.context = await this.browser.newContext({ baseURL: this.service.url, ...look });
    this.page = await pageOf(this.context);
    this.email = `mail-${++this.people}@example.org`;
  }

  async endTest(): Promise<void> {
    await this.context.close();
  }

  /** The link in the newest mail of a subject to an address. */
  linkIn(email: string, subject: string): Promise<string> {
    return eventually(() => {
      const mail = this.smtp
        .to(email)
        .filter(({ headers }) => headers.subject === subject)
        .at(-1);
      return /\n(http\S+\?token=\S+)\n/.exec(mail?.text ?? '')![1]!;
    });
  }

  /** Checks accessibility in light and dark, and overflow; both need scripts in the page. */
  async check(): Promise<void> {
    if (!this.hasScript) return;
    for (const colorScheme of ['light', 'dark'] as const) {
      await this.page.emulateMedia({ colorScheme });
      await expectAccessible(this.page);
    }
    await expectFits(this.page);
  }

  async heading(name: string): Promise<void> {
    await this.page.getByRole('heading', { name, exact: true }).waitFor();
  }

  async signUp(): Promise<void> {
    await this.page.goto('/account');
    await this.page.getByText('New here?').click();
    const form = this.page.getByRole('form', { name: 'Sign up' });
    await form.getByLabel('Name').fill('Ada');
    await form.getByLabel('Email address').fill(this.email);
    await form.getByLabel('Password').fill(PASSWORD);
    await form.getByRole('button').click();
    await this.heading('Check your mail');
  }
}
