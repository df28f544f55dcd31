import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expectAccessible, expectFits, pageOf } from '../browser.js';
import { type ListedPage, type PageName, PAGES } from './page-list.js';
import { savePicture } from './picture.js';

export const PASSWORD = 'correct horse battery staple';

const WIDE = { width: 1000, height: 720 };
const PHONE = { width: 390, height: 720 };

/** The folder for pictures, set by scripts/screenshots.mjs. */
const FOLDER = process.env.SCREENSHOTS;

interface WalkOptions {
  /** Without JavaScript nothing is inspected, because axe is a script. */
  readonly hasScript: boolean;
}

/** A user at a browser who clicks, types and inspects each page. */
export class Walk {
  /** The inspected pages. */
  readonly seen: PageName[] = [];

  constructor(
    public page: Page,
    readonly options: WalkOptions,
  ) {}

  /** Continues in another tab with the same cookies: the browser's question whether to open an app captures the keyboard. */
  async goToNewTab(): Promise<void> {
    const old = this.page;
    this.page = await pageOf(old.context());
    await old.close();
  }

  /** Inspects the current page: it fits, and axe finds nothing, in a wide window and on a phone, in light and dark. */
  async look(name: PageName): Promise<void> {
    this.seen.push(name);
    if (!this.options.hasScript) return;
    const { page } = this;
    await page.waitForFunction(() => document.readyState === 'complete'); // a link to an app triggers no load event
    const scroll = await page.evaluate(() => scrollY);
    for (const [size, viewport] of [
      ['phone', PHONE],
      ['wide', WIDE],
    ] as const) {
      await page.setViewportSize(viewport);
      await expectFits(page);
      for (const colorScheme of ['dark', 'light'] as const) {
        await page.emulateMedia({ colorScheme });
        if (!FOLDER) await expectAccessible(page);
        await this.takePicture(name, size, colorScheme);
      }
    }
    await page.evaluate((top) => scrollTo(0, top), scroll);
  }

  /** Takes a picture of a mail as a mail program shows it. */
  async lookAtMail(name: PageName, html: string): Promise<void> {
    this.seen.push(name);
    if (!this.options.hasScript || !FOLDER) return;
    const reader = await this.page.context().newPage();
    await reader.setViewportSize({ width: 640, height: 400 });
    await reader.setContent(html);
    await savePicture(reader, join(FOLDER, `${name}.png`));
    await reader.close();
  }

  private async takePicture(name: PageName, size: 'wide' | 'phone', scheme: 'light' | 'dark'): Promise<void> {
    const { pictures = [] }: ListedPage = PAGES[name];
    const kind = [size === 'phone' && 'phone', scheme === 'dark' && 'dark'].filter(Boolean).join('-');
    if (!FOLDER || !(kind === '' || pictures.some((picture) => picture === kind))) return;
    await savePicture(this.page, join(FOLDER, `${[name, kind].filter(Boolean).join('-')}.png`));
  }

  async open(path: string): Promise<void> {
    await this.page.goto(path);
  }

  /** Presses a button in the form with this label, or anywhere on the page. */
  async press(button: string, form?: string): Promise<void> {
    const place = form === undefined ? this.page : this.page.getByRole('form', { name: form, exact: true });
    await place.getByRole('button', { name: button, exact: true }).click();
  }

  /** Opens a collapsed part of the page. */
  async unfold(summary: string): Promise<void> {
    await this.page.locator('summary').filter({ hasText: summary }).first().click();
  }

  /** Fills in fields of a form by their labels. */
  async fill(form: string, fields: Readonly<Record<string, string>>): Promise<void> {
    const place = this.page.getByRole('form', { name: form, exact: true });
    for (const [label, value] of Object.entries(fields)) await place.getByLabel(label).fill(value);
  }

  async follow(link: string): Promise<void> {
    await this.page.getByRole('link', { name: link, exact: true }).first().click();
  }

  /** Waits for a text. */
  async see(text: string): Promise<void> {
    await this.page.getByText(text).filter({ visible: true }).first().waitFor();
  }

  async signIn(email: string, password = PASSWORD): Promise<void> {
    await this.fill('Sign in', { 'Email address': email, Password: password });
    await this.press('Sign in', 'Sign in');
  }

  async signOut(): Promise<void> {
    await this.page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await this.see('Sign in to your account');
  }
}
