import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  expireSubscriptions,
  showSubscription,
} from '../../../src/operations/admin/commands/subscription-commands.js';
import { sendWebhook } from '../../../src/operations/admin/commands/mail-commands.js';
import type { EventType } from '../../../src/domain/billing/index.js';
import { adminJson } from '../../kit/admin.js';
import { startService, type TestService } from '../../kit/index.js';
import { ProviderSubscription, WEBHOOK_SECRET } from '../../kit/payment-provider.js';
import { adminEnded } from '../../kit/ended.js';
import { ADMIN, enterEnvironment, runProcess } from '../../kit/process.js';

type Env = Record<string, string>;

let leaveEnvironment: () => void;
let service: TestService;
let directory: string;
let beside: Env;
beforeAll(async () => {
  service = await startService({ isAtBaseUrl: true, env: { PAYMENT_WEBHOOK_SECRET: WEBHOOK_SECRET } });
  directory = await mkdtemp(join(tmpdir(), 'billing-admin-'));
  beside = {
    DATA_DIR: service.dataDir,
    DATABASE_URL: service.database.url,
    BASE_URL: service.url,
    PAYMENT_WEBHOOK_SECRET: WEBHOOK_SECRET,
  };
});
afterAll(async () => {
  await service.close();
  await rm(directory, { recursive: true });
});
beforeEach(() => {
  leaveEnvironment = enterEnvironment(beside);
});
afterEach(() => {
  leaveEnvironment();
});

const json = (...args: string[]): Promise<Record<string, unknown>> => adminJson(beside, ...args);

describe('admin webhook send', () => {
  it('makes a user active, as subscription show reports', async () => {
    const alice = await service.newcomer('active');
    expect(await showSubscription(alice.email)).toMatchObject({ status: 'free', isActive: false });
    const type = 'customer.subscription.created';
    const sent = await json('webhook', 'send', type, '--user', alice.email);
    expect(sent).toEqual({
      ...{ event: expect.stringMatching(/^evt_sample_/), type, email: alice.email, status: 'active' },
    });
    expect(await json('subscription', 'show', alice.email)).toEqual({
      ...{ email: alice.email, userId: alice.id, plan: 'pro', status: 'active', isActive: true },
      ...{ trialStart: null, trialEnd: null, cancelAtPeriodEnd: false, pastDueSince: null, customerId: null },
      currentPeriodEnd: expect.stringMatching(/Z$/),
      subscriptionId: expect.stringMatching(/^sub_sample_/),
    });
  });

  it('takes a subscription through its life cycle', async () => {
    const alice = await service.newcomer('life');
    const steps: [EventType, string][] = [
      ['customer.subscription.created', 'active'],
      ['invoice.payment_failed', 'past_due'],
      ['customer.subscription.updated', 'active'],
      ['customer.subscription.deleted', 'cancelled'],
    ];
    for (const [type, status] of steps) {
      const { text, ...fields } = await sendWebhook(type, alice.email, undefined);
      expect(fields).toMatchObject({ type, email: alice.email, status });
      expect(text).toMatch(new RegExp(`^Sent ${type} \\(evt_sample_.*\\): ${alice.email} is ${status}$`));
    }
  });

  it('sends an event from a file, or the object in it, about the named user', async () => {
    const event = new ProviderSubscription('somebody-else').created(new Date(), { lookupKey: 'team' });
    for (const [name, content] of Object.entries({ event, object: event.data.object })) {
      const alice = await service.newcomer(`from-${name}`);
      const file = join(directory, `${name}.json`);
      await writeFile(file, JSON.stringify(content));
      await sendWebhook('customer.subscription.created', alice.email, file);
      const { body } = await alice.get('/api/v1/subscription').expect(200);
      expect(body).toMatchObject({ plan: 'team', status: 'active' });
    }
  });

  it('reports every error in one sentence', async () => {
    const { email } = await service.newcomer('wrong');
    const broken = join(directory, 'broken.json');
    await writeFile(broken, '{');
    const send = (file?: string, user = email): Promise<unknown> =>
      sendWebhook('customer.subscription.created', user, file);
    await expect(send(undefined, 'nobody@example.org')).rejects.toThrow(
      'there is no account for nobody@example.org',
    );
    await expect(send(broken)).rejects.toThrow(/broken\.json cannot be used: .*JSON/);
    await expect(send(join(directory, 'none.json'))).rejects.toThrow(/none\.json cannot be used: ENOENT/);
    process.env.PAYMENT_WEBHOOK_SECRET = 'another';
    await expect(send()).rejects.toThrow(/^the service responded with 400: .*signature/);
    process.env.BASE_URL = 'http://127.0.0.1:1';
    await expect(send()).rejects.toThrow(/^no service responds at http:\/\/127\.0\.0\.1:1; /);
    expect(service.logged()).not.toContain(WEBHOOK_SECRET);
  });

  it('exits with 1 on failure and with 2 on wrong usage', async () => {
    const send = (type: string): string[] => ['webhook', 'send', type, '--user', 'nobody@example.org'];
    // In a separate process, as an operator runs it.
    const nobody = await runProcess(beside, ADMIN, send('invoice.payment_failed'));
    expect(nobody).toEqual({ code: 1, output: 'there is no account for nobody@example.org\n' });
    const unknown = await adminEnded(beside, ...send('invoice.exploded'));
    expect(unknown).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("'invoice.exploded' is invalid"),
    });
  });
});

describe('admin subscriptions expire', () => {
  it('expires trials that have ended, as of now or of another time', async () => {
    const alice = await service.user('trial');
    const status = async (): Promise<unknown> =>
      (await service.database.query('SELECT status FROM subscriptions WHERE user_id = $1', [alice.id]))[0]
        ?.status;
    expect(await expireSubscriptions(undefined)).toEqual({
      expired: 0,
      text: '0 subscriptions have expired',
    });
    expect(await status()).toBe('trial');
    const later = new Date(Date.now() + 31 * 24 * 3600_000).toISOString();
    expect(await json('subscriptions', 'expire', '--now', later)).toEqual({ expired: 1 });
    expect(await status()).toBe('expired');
  });

  it('ends grants that have run out, and nothing else that is active', async () => {
    const [granted, forever, bought] = await Promise.all(
      ['granted', 'forever', 'bought'].map((name) => service.newcomer(name)),
    );
    const until = new Date(Date.now() + 60_000);
    const statuses = async (): Promise<unknown[]> => {
      const answers = await Promise.all(
        [granted, forever, bought].map((user) => user!.get('/api/v1/subscription')),
      );
      return answers.map(({ body }) => body.status);
    };
    await json('subscription', 'grant', granted!.email, '--status', 'active', '--until', until.toISOString());
    await json('subscription', 'grant', forever!.email, '--status', 'active');
    await sendWebhook('customer.subscription.created', bought!.email, undefined);
    expect(await statuses()).toEqual(['active', 'active', 'active']);

    service.clock.stopAt(until);
    await service.database.query(`UPDATE subscriptions SET current_period_end = $2 WHERE user_id = $1`, [
      bought!.id,
      until,
    ]);
    expect(await statuses()).toEqual(['expired', 'active', 'active']);
    expect(await json('subscriptions', 'expire', '--now', until.toISOString())).toMatchObject({
      expired: 1,
    });
    expect(await statuses()).toEqual(['expired', 'active', 'active']);
    service.clock.resume();
  });
});

describe('admin subscription show', () => {
  it('prints one field per line', async () => {
    const alice = await service.user('shown');
    const { text } = await showSubscription(alice.email);
    expect(text).toMatch(/^email: shown@example\.org\n[^]*\nstatus: trial\n[^]*\nisActive: true\n/);
    await expect(showSubscription('nobody@example.org')).rejects.toThrow('there is no account');
  });
});
