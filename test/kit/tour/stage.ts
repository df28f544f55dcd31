import { type Browser, type BrowserContextOptions } from 'playwright-core';
import { freePort } from '../../../bench/free-port.js';
import { Users } from '../../../src/domain/auth/index.js';
import { UnsubscribeLinks } from '../../../src/domain/accounts/notices/index.js';
import { KillSwitch } from '../../../src/platform/kill-switch.js';
import { adminReport } from '../admin.js';
import { openBrowser, pageOf } from '../browser.js';
import { eventually } from '../eventually.js';
import { OidcProvider } from '../oidc-provider.js';
import { type FakeProvider, startProvider } from '../payment-provider.js';
import { startService, type TestService } from '../service.js';
import { type ReceivedMail, TestSmtp } from '../smtp.js';
import { PASSWORD, Walk } from './walk.js';

const HOST = 'sync.example.org';
const URL_OF_SERVICE = `http://${HOST}`;

/** The web editor that people are signed in to. No server listens there. */
export const EDITOR = 'https://editor.example.org/auth/callback';

const REQUESTS_PER_MINUTE = 100_000;

interface StageOptions {
  /** With a provider for single sign-on, and without sign-up. */
  readonly hasSingleSignOn?: boolean;
  readonly requestsPerMinute?: number;
}

/** A service with its environment: mail server, payment provider, optionally an OpenID Connect provider, and a browser. */
export class Stage {
  private constructor(
    readonly service: TestService,
    readonly browser: Browser,
    readonly smtp: TestSmtp,
    readonly provider: OidcProvider | undefined,
    private readonly payments: FakeProvider,
  ) {}

  static async start({ hasSingleSignOn = false, requestsPerMinute }: StageOptions = {}): Promise<Stage> {
    const port = await freePort();
    const smtp = await TestSmtp.start();
    const payments = await startProvider();
    const provider = hasSingleSignOn ? await OidcProvider.start({ serviceUrl: URL_OF_SERVICE }) : undefined;
    const service = await startService({
      port,
      env: {
        ...smtp.env,
        ...provider?.env,
        BASE_URL: URL_OF_SERVICE,
        EDITOR_CALLBACK_URL: EDITOR,
        SIGNUP_ENABLED: String(!hasSingleSignOn),
        STRIPE_SECRET_KEY: 'sk_test_key',
        STRIPE_API_BASE: payments.url,
        STRIPE_PRICE_ID: 'price_1',
        RATE_LIMIT_PER_MINUTE: String(requestsPerMinute ?? REQUESTS_PER_MINUTE),
      },
    });
    const hosts = `MAP ${HOST} 127.0.0.1:${port}, MAP editor.example.org 127.0.0.1:1`;
    const browser = await openBrowser(
      `--host-resolver-rules=${hosts}`,
      `--unsafely-treat-insecure-origin-as-secure=${URL_OF_SERVICE}`,
    );
    return new Stage(service, browser, smtp, provider, payments);
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.service.close();
    this.provider?.close();
    await this.payments.close();
    await this.smtp.goAway();
  }

  /** Opens a separate browser session. */
  async walk(hasScript = true, options: BrowserContextOptions = {}): Promise<Walk> {
    const look = { locale: 'en-GB', timezoneId: 'UTC', colorScheme: 'light' } as const;
    const context = await this.browser.newContext({
      baseURL: URL_OF_SERVICE,
      javaScriptEnabled: hasScript,
      ...look,
      ...options,
    });
    return new Walk(await pageOf(context), { hasScript });
  }

  /** The last of `count` mails with this subject to an address; waits for it. */
  async mailTo(address: string, subject: string, count = 1): Promise<ReceivedMail> {
    const found = (): ReceivedMail[] =>
      this.smtp.to(address).filter(({ headers }) => headers.subject?.includes(subject));
    await eventually(() => expect(found()).toHaveLength(count));
    return found().at(-1)!;
  }

  /** Does the same as the admin command `user create`, with a cheaper hash. The address counts as confirmed. */
  async createAccount(email: string, name: string): Promise<void> {
    await this.service.app.get(Users).create(email, name, PASSWORD);
  }

  /** The link that turns off mails about the trial. */
  async unsubscribeLink(email: string): Promise<string> {
    const [user] = await this.service.database.query<{ id: string }>(
      'SELECT id FROM users WHERE email = $1',
      [email],
    );
    return this.service.app.get(UnsubscribeLinks).linkFor({ userId: user!.id, notice: 'trial-ends' });
  }

  /** Runs the admin command like an operator. */
  async admin(...args: string[]): Promise<void> {
    const { database, dataDir } = this.service;
    await adminReport({ DATABASE_URL: database.url, DATA_DIR: dataDir }, ...args);
    await this.service.app.get(KillSwitch).look();
  }
}

/** The only link to the service in a mail. */
export function linkIn({ text }: ReceivedMail): string {
  const [link] = /http:\/\/sync\.example\.org\/\S+/.exec(text) ?? [];
  if (link === undefined) throw new Error(`no link in: ${text}`);
  return link;
}
