import { AxeBuilder } from '@axe-core/playwright';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { GIVE_UP_AFTER_MS } from './eventually.js';
import { isRequired, servers } from './test-servers.js';

const { environment = {} } = servers;

const UNPACKED = join(environment.TEST_SERVERS_DIR ?? '', 'usr/lib/chromium/chromium');

/** One of its libraries lies where only an installed one is looked for. */
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

/** `describe` for what needs a real browser. Where there is none it is skipped, in one line; in CI it fails. */
export function describeWithBrowser(name: string, tests: () => void): void {
  if (executable !== undefined || isRequired) {
    describe(name, tests);
    return;
  }
  process.stderr.write(`skipped: ${name}: there is no chromium (Debian: apt-get install chromium)\n`);
  describe.skip(name, tests);
}

/**
 * A Chromium without a screen, in a directory of its own that goes with it.
 * @param more arguments of it @throws where there is none
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

/** A desktop's window and a phone's. */
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

/** The width of its outline. A page is usable before its style sheet has loaded; the load event waits for that. */
export async function outline(page: Page): Promise<string> {
  await page.waitForLoadState();
  return page.evaluate(() => getComputedStyle(document.activeElement!).outlineWidth);
}

/**
 * axe finds nothing. In the dark colours alone differ, so that it looks at nothing else. Our pages have no frames: only what
 * it finds in several would have to be put together, for which it opens another page each time, unless in its legacy mode.
 * A page that it has looked at has its script already.
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

/** Nothing overflows: the page does not scroll horizontally. */
export async function expectFits(page: Page): Promise<void> {
  const { scrollWidth, clientWidth } = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return { scrollWidth, clientWidth };
  });
  expect(scrollWidth).toBe(clientWidth);
}
