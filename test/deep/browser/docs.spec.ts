import type { Browser, BrowserContext, Page } from 'playwright-core';
import {
  describeWithBrowser,
  expectAccessible,
  expectFits,
  openBrowser,
  pageOf,
  SIZES,
} from '../../kit/browser.js';
import { eventually, startService, type TestService } from '../../kit/index.js';

describeWithBrowser('the pages of the API document in a browser', () => {
  let service: TestService;
  let browser: Browser;
  beforeAll(async () => {
    service = await startService({ isAtBaseUrl: true, env: { RATE_LIMIT_PER_MINUTE: '100000' } });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await service.close();
  });

  async function withPage(
    options: Parameters<Browser['newContext']>[0],
    look: (page: Page) => Promise<void>,
  ): Promise<void> {
    const context: BrowserContext = await browser.newContext({ baseURL: service.url, ...options });
    try {
      await look(await pageOf(context));
    } finally {
      await context.close();
    }
  }

  describe.each(SIZES)('at %s', (_, viewport) => {
    it.each(['/docs', '/docs/files', '/docs/schemas', '/readme'])('are accessible: %s', async (path) => {
      await withPage({ viewport }, async (page) => {
        await page.goto(path);
        await page.locator('details').evaluateAll((all) => {
          for (const details of all as HTMLDetailsElement[]) {
            details.removeAttribute('name'); // so that all can be open at once
            details.open = true;
          }
        });
        await expectFits(page);
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          await expectAccessible(page);
        }
      });
    });

    it('no page is longer than 30,000 pixels', async () => {
      await withPage({ viewport }, async (page) => {
        await page.goto('/docs');
        const pages = await page
          .locator('h2 a')
          .evaluateAll((links) => links.map((link) => link.getAttribute('href')));
        for (const path of ['/docs', ...pages, '/docs/schemas']) {
          await page.goto(path ?? '');
          const height = await page.evaluate(() => document.documentElement.scrollHeight);
          expect([path, height, height < 30_000]).toEqual([path, height, true]);
        }
      });
    });
  });

  it('include a readme whose commands and tables scroll by the keyboard on a phone', async () => {
    await withPage({ viewport: { width: 360, height: 740 } }, async (page) => {
      await page.goto('/readme');
      await expectFits(page);
      const boxes = page.locator('.readme pre, .readme .scrolls');
      const wide = await boxes.evaluateAll((all) =>
        all.flatMap((box, at) => (box.scrollWidth > box.clientWidth ? [at] : [])),
      );
      expect(wide.length).toBeGreaterThan(2);
      const box = boxes.nth(wide[0]!);
      await box.focus();
      await page.keyboard.press('ArrowRight');
      await eventually(async () => expect(await box.evaluate((one) => one.scrollLeft)).toBeGreaterThan(0));
    });
  });

  it('the search shows operations with all words, and Enter opens the first', async () => {
    await withPage({}, async (page) => {
      await page.goto('/docs');
      const field = page.getByRole('searchbox', { name: 'Search the operations' });
      await field.fill('UPLOAD file');
      const shown = page.locator('.operations li:visible a');
      const names = await shown.allTextContents();
      expect(names).toContain('Upload the content of a file');
      expect(names.length).toBeLessThan(10);
      expect(await page.getByRole('status').textContent()).toMatch(
        new RegExp(`^${names.length} of \\d+ operations$`),
      );
      expect(await page.getByRole('heading', { name: 'Live room' }).count()).toBe(0);
      await field.press('Enter');
      await page.keyboard.press('Enter');
      await page.waitForURL('**/docs/*#*');
    });
  });

  it('the search can be used from the page of a group', async () => {
    await withPage({}, async (page) => {
      await page.goto('/docs/files');
      await page.getByRole('searchbox').fill('key session');
      await page.getByRole('searchbox').press('Enter');
      await page.waitForURL('**/docs?q=key+session');
      expect(await page.locator('.operations li:visible a').allTextContents()).toContain(
        'Open a key session',
      );
      expect(await page.getByRole('heading', { name: 'Files', exact: true }).count()).toBe(0);
    });
  });

  it('the keyboard scrolls a sample that does not fit', async () => {
    await withPage({ viewport: SIZES[1][1] }, async (page) => {
      await page.goto('/docs/files');
      const sample = page.locator('pre.sample').first();
      await sample.focus();
      await page.keyboard.press('ArrowRight');
      await eventually(async () => {
        expect(await sample.evaluate(({ scrollLeft }) => scrollLeft)).toBeGreaterThan(0);
      });
    });
  });

  it('without script, there is no search field and every operation has its link', async () => {
    await withPage({ javaScriptEnabled: false }, async (page) => {
      await page.goto('/docs');
      expect(await page.getByRole('searchbox').count()).toBe(0);
      await page.getByRole('link', { name: 'Upload the content of a file' }).click();
      await page.waitForURL('**/docs/files#files.upload');
      expect(await page.locator('article:target h2').textContent()).toContain('Upload the content of a file');
      await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'API' }).click();
      await page.waitForURL('**/docs');
    });
  });
});
