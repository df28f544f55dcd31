// Creates docs/screenshots: starts the service on an empty directory, walks through the pages in Chromium and takes
// screenshots. `npm run screenshots`; needs Debian's chromium, or CHROMIUM=/path/to/it.
import './build-if-needed.mjs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { freePorts } from './free-ports.mjs';

const ROOT = join(import.meta.dirname, '..');
const FOLDER = join(ROOT, 'docs', 'screenshots');
const HOST = 'sync.example.org';
const EDITOR = 'https://editor.example.org/auth/callback';
const STATE = 'pNoQ5fO9Wc7n1m2xJ0b8sA';

const ADA = { name: 'Ada Lovelace', email: 'ada@example.org' };
const GRACE = { name: 'Grace Hopper', email: 'grace@example.org' };
const MARY = { name: 'Mary Somerville', email: 'mary@example.org' };
const EMMY = { name: 'Emmy Noether', email: 'emmy@example.org' };
const PASSWORD = 'correct horse battery staple';

const WIDE = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

/**
 * Takes all pages, or only the first two. Each round has its own person, so that no screenshot shows the actions of
 * another round.
 */
const ROUNDS = [
  { person: ADA, suffix: 'wide-light', viewport: WIDE, colorScheme: 'light', isWhole: true },
  { person: GRACE, suffix: 'wide-dark', viewport: WIDE, colorScheme: 'dark', isWhole: false },
  { person: MARY, suffix: 'phone-light', viewport: PHONE, colorScheme: 'light', isWhole: false },
  { person: EMMY, suffix: 'phone-dark', viewport: PHONE, colorScheme: 'dark', isWhole: true },
];

const DESKTOP = `/auth/desktop-handoff?client_state=${STATE}&scheme=cloudsync-desktop`;
const WEB = `/auth/web-handoff?client_state=${STATE}&return_to=${encodeURIComponent(EDITOR)}`;

async function startService(dataDir, port) {
  const env = {
    ...process.env,
    ...{ PORT: String(port), DATA_DIR: dataDir, BASE_URL: `http://${HOST}`, LOG_LEVEL: 'warn' },
    ...{ EDITOR_CALLBACK_URL: EDITOR, RATE_LIMIT_PER_MINUTE: '0' },
  };
  const service = spawn(process.execPath, [join(ROOT, 'dist', 'service', 'main.js')], { env, cwd: dataDir });
  service.stderr.pipe(process.stderr);
  await once(service.stdout, 'data');
  service.stdout.resume();
  return service;
}

/** Creates typical data for an account. */
async function furnish(address, person) {
  const send = async (method, path, body, headers = {}) => {
    const answer = await fetch(address + path, {
      method,
      headers: { 'content-type': 'application/json', origin: `http://${HOST}`, ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  const account = { ...person, password: PASSWORD };
  const { token: session } = await send('POST', '/api/auth/sign-up/email', account, { 'user-agent': LAPTOP });
  const { token } = await send('GET', '/api/auth/token', undefined, { authorization: `Bearer ${session}` });
  const bearer = { authorization: `Bearer ${token}` };
  await send('POST', '/api/v1/subscription/trial', {}, bearer);
  const notes = await send('POST', '/api/v1/workspaces', { name: 'Notes' }, bearer);
  const [firstName] = person.name.split(' ');
  await send('POST', '/api/v1/devices', { name: `${firstName}’s laptop`, platform: 'linux' }, bearer);
  await send('POST', '/api/v1/devices', { name: 'Pocket', platform: 'android' }, bearer);
  const backup = { name: 'Nightly backup', scopes: ['documents:read', 'assets:read'], workspaceId: notes.id };
  await send('POST', '/api/v1/auth/tokens', backup, bearer);
  const asset = { encryptedFilename: 'cGhvdG8', data: Buffer.alloc(20 * 1024 * 1024).toString('base64') };
  await send('POST', '/api/assets', asset, { ...bearer, 'x-workspace-id': notes.id });
}

const LAPTOP = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0';

async function signIn(page, { email }, password = PASSWORD) {
  await page.getByLabel('Email address').first().fill(email);
  await page.getByLabel('Password').first().fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function makeToken(page) {
  await page.getByText('New token').click();
  await page.getByLabel('Name').fill('Reading robot');
  await page.getByLabel('Read notes, history').check();
  await page.getByRole('button', { name: 'Create token' }).click();
  await page.getByText('it is not shown again').waitFor();
}

/** The pages in one size and one color scheme; each in its own tab, so that no app dialog stays open. */
async function photograph(browser, { person, suffix, viewport, colorScheme, isWhole }) {
  const context = await browser.newContext({
    ...{ baseURL: `http://${HOST}`, viewport, colorScheme, timezoneId: 'UTC', locale: 'en-GB' },
  });
  const take = async (name, path, act = async () => undefined) => {
    const page = await context.newPage();
    await page.goto(path);
    await act(page);
    await page.screenshot({ path: join(FOLDER, `${name}-${suffix}.png`), fullPage: true });
    await page.close();
  };
  await take('sign-in', DESKTOP);
  await take('open-app', DESKTOP, async (page) => {
    await signIn(page, person);
    await page.getByRole('link', { name: 'Open cloudsync-desktop' }).waitFor();
  });
  if (isWhole) {
    await take('continue', WEB);
    await take('another-account', WEB, (page) => page.getByText('Use another account').click());
    await take('account', '/account', makeToken);
    await take('refused', '/auth/web-handoff?client_state=short');
    await context.clearCookies();
    await take('sign-up', DESKTOP, (page) => page.getByText('New here?').click());
    await take('wrong-password', DESKTOP, async (page) => {
      await signIn(page, person, 'not the password');
      await page.getByText('is wrong').waitFor();
    });
  }
  await context.close();
}

/** The output of `npm run demo` as in a terminal; a folder of this project stands in for a user's notes. */
async function photographDemo(browser, directory) {
  const notes = join(directory, 'notes');
  await cp(join(ROOT, 'docs'), notes, { recursive: true });
  const demo = spawn(process.execPath, [join(ROOT, 'dist', 'examples', 'sync-folder', 'demo.js'), notes], {
    env: { ...process.env, DATA_DIR: join(directory, 'demo') },
    cwd: directory,
  });
  let output = '';
  demo.stdout.on('data', (chunk) => (output += chunk));
  const [status] = await once(demo, 'exit');
  if (status !== 0) throw new Error(`the demo exited with ${status}: ${output}`);
  const lines = output.replaceAll(notes, '~/notes').trim().split('\n');
  const page = await browser.newPage({ viewport: { width: 1180, height: 100 } });
  await page.setContent(TERMINAL);
  await page.evaluate(
    (text) => (document.querySelector('pre').textContent = text),
    ['$ npm run demo -- ~/notes', '', ...lines].join('\n'),
  );
  await page.screenshot({ path: join(FOLDER, 'demo.png'), fullPage: true });
  await page.close();
}

const TERMINAL = `<style>
  body { margin: 0; background: #1b1e27; }
  pre { margin: 28px 32px; color: #e6e8ee; font: 15px/1.55 'DejaVu Sans Mono', monospace; white-space: pre-wrap; }
</style><pre></pre>`;

const dataDir = await mkdtemp(join(tmpdir(), 'screenshots-'));
const port = await freePorts(1);
const service = await startService(dataDir, port);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', `--host-resolver-rules=MAP ${HOST} 127.0.0.1:${port}`],
});
try {
  for (const round of ROUNDS) {
    await furnish(`http://127.0.0.1:${port}`, round.person);
    await photograph(browser, round);
  }
  await photographDemo(browser, dataDir);
} finally {
  await browser.close();
  service.kill('SIGTERM');
  await once(service, 'exit');
  await rm(dataDir, { recursive: true, force: true });
}
