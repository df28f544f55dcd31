import type { Browser, BrowserContext, Page } from 'playwright-core';
import supertest from 'supertest';
import { KillSwitch, type Mode } from '../../../src/platform/kill-switch.js';
import {
  describeWithBrowser,
  expectAccessible,
  expectFits,
  openBrowser,
  pageOf,
  SIZES,
} from '../../kit/browser.js';
import { startService, type TestService } from '../../kit/index.js';
import { type FakeProvider, startProvider } from '../../kit/payment-provider.js';

const ADA = { email: 'ada@example.org', password: 'correct horse battery staple', name: 'Ada Lovelace' };
const DESKTOP = '/auth/desktop-handoff?client_state=a-state-of-the-app_0123456789';
const TRIES_PER_MINUTE = 10;

describeWithBrowser('errors, alerts and the link to billing in a browser', () => {
  let service: TestService;
  let provider: FakeProvider;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  beforeAll(async () => {
    provider = await startProvider();
    const stripe = {
      STRIPE_SECRET_KEY: 'sk_test_key',
      STRIPE_API_BASE: provider.url,
      STRIPE_PRICE_ID: 'price_1',
    };
    service = await startService({ isAtBaseUrl: true, env: { ...stripe, RATE_LIMIT_PER_MINUTE: '100000' } });
    service.clock.stopAt(new Date()); // tries are counted by the minute
    await toIdentity('sign-up/email', ADA).expect(200);
    browser = await openBrowser();
    context = await browser.newContext({ baseURL: service.url, viewport: SIZES[1][1] });
    page = await pageOf(context);
  });
  afterAll(async () => {
    await browser.close();
    await service.close();
    await provider.close();
  });

  const toIdentity = (action: string, body: object): supertest.Test =>
    supertest(service.url).post(`/api/auth/${action}`).set('Origin', service.url).send(body);

  async function set(mode: Mode): Promise<void> {
    await service.app.get(KillSwitch).set(mode);
    await service.app.get(KillSwitch).look();
  }

  async function signIn(): Promise<void> {
    await page.getByLabel('Email address').first().fill(ADA.email);
    await page.getByLabel('Password').first().fill(ADA.password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  }

  /** Checks both colour schemes once the page shows `words`. */
  async function expectGood(words: string): Promise<void> {
    await page.getByText(words).waitFor();
    await expectFits(page);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await expectAccessible(page);
    }
  }

  it('are accessible', async () => {
    await page.goto('/auth/web-handoff?client_state=short');
    await expectGood('This link does not work'); // 400
    await page.goto('/nothing');
    await expectGood('Page not found'); // 404
    await page.getByRole('link', { name: 'About this service' }).click();
    await expectGood('Keeps workspaces of notes and files in sync');
    await page.getByRole('link', { name: 'Your account' }).click();
    await page.getByRole('heading', { name: 'Sign in to your account' }).waitFor();
    await set('down');
    await page.goto('/account');
    await expectGood('Temporarily unavailable'); // 503
    await set('off');

    await page.goto('about:blank');
    await page.setContent(`<form method="post" action="${service.url}/account"><button>Win</button></form>`);
    await page.getByRole('button', { name: 'Win' }).click();
    await expectGood('This request was refused'); // 403

    for (const path of [DESKTOP, '/account']) {
      await page.goto(path);
      await context.clearCookies();
      await signIn();
      await expectGood('This page was out of date');
    }
    await signIn();
    await page.getByRole('button', { name: 'Billing' }).waitFor();
    await context.clearCookies({ name: 'form-secret' });
    await page.getByRole('button', { name: 'Billing' }).click();
    await expectGood('This page was out of date');
    await page.getByRole('button', { name: 'Billing' }).click();
    await expectGood('Your billing page is ready');

    const guess = { email: 'nobody@example.org', password: 'not the password' };
    for (let tries = 1; tries < TRIES_PER_MINUTE; tries++)
      await toIdentity('sign-in/email', guess).expect(401);
    await context.clearCookies();
    for (const path of [DESKTOP, '/account']) {
      await page.goto(path);
      await signIn();
      await expectGood('Too many attempts');
    }
  });
});
