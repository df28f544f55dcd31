import { AxeBuilder } from '@axe-core/playwright';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { GIVE_UP_AFTER_MS } from './eventually.js';
import { isRequired, servers } from './test-servers.js';

const { environment = {} } = servers;

const UNPACKED = join(environment.TEST_SERVERS_DIR ?? '', 'usr/lib/chromium/chromium');

/** Finds the unpacked libraries: one of them is otherwise looked for only where an installed one would be. */
const unpackedEnvironment = {
  ...environment,
  LD_LIBRARY_PATH: (environment.LD_LIBRARY_PATH ?? '')
    .split(':')
    .flatMap((path) => [path, join(path, 'pulseaudio')])
    .join(':'),
};

const executable = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  UNPACKED,
].find(existsSync);

/** `describe` for tests that need a real browser. Without one they are skipped, with one line; in CI they fail. */
export function describeWithBrowser(name: string, tests: () => void): void {
  if (executable !== undefined || isRequired) {
    describe(name, tests);
    return;
  }
  process.stderr.write(`skipped: ${name}: there is no chromium (Debian: apt-get install chromium)\n`);
  describe.skip(name, tests);
}

/**
 * A headless Chromium with its own directory, which is deleted with it.
 * @param more further arguments @throws when Chromium is missing
 */
export function openBrowser(...more: string[]): Promise<Browser> {
  if (executable === undefined) throw new Error('there is no chromium (Debian: apt-get install chromium)');
  const quiet = ['--no-first-run', '--disable-background-networking', '--disable-component-update'];
  return chromium.launch({
    executablePath: executable,
    args: ['--no-sandbox', '--disable-gpu', '--disable-sync', ...quiet, ...more],
    env: { ...process.env, ...(executable === UNPACKED ? unpackedEnvironment : {}) },
  });
}

/** Window sizes of a desktop and of a phone. */
export const SIZES = [
  ['1280×800', { width: 1280, height: 800 }],
  ['390×844', { width: 390, height: 844 }],
] as const;

export async function pageOf(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  page.setDefaultTimeout(GIVE_UP_AFTER_MS);
  return page;
}

/** The id of the element that has the focus. */
export const focused = (page: Page): Promise<string | undefined> =>
  page.evaluate(() => document.activeElement?.id);

/** The focused element's outline width. Waits for the load event: a page is usable before its style sheet is loaded. */
export async function outline(page: Page): Promise<string> {
  await page.waitForLoadState();
  return page.evaluate(() => getComputedStyle(document.activeElement!).outlineWidth);
}

/**
 * axe finds no violation. In dark mode only colours differ, so only contrast is checked. The pages have no frames, so
 * legacy mode suffices; otherwise axe opens another page each time to merge the results of frames. An inspected page
 * already has the script of axe.
 */
export async function expectAccessible(page: Page): Promise<void> {
  expect(page.frames()).toHaveLength(1);
  const isDark = await page.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches);
  const isThere = await page.evaluate(() => 'axe' in window);
  const axe = new AxeBuilder({ page, ...(isThere ? { axeSource: ';' } : {}) })
    .setLegacyMode()
    .options({ resultTypes: ['violations'] });
  const { violations } = await (isDark ? axe.withRules('color-contrast') : axe).analyze();
  expect(violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => html) }))).toEqual([]);
}

/** The page does not scroll horizontally. */
export async function expectFits(page: Page): Promise<void> {
  const { scrollWidth, clientWidth } = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return { scrollWidth, clientWidth };
  });
  expect(scrollWidth).toBe(clientWidth);
}
