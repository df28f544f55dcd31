import { randomUUID } from 'node:crypto';
import { Subscriptions } from '../../../src/domain/billing/index.js';
import { checksums } from '../../kit/checksums.js';
import { eventually } from '../../kit/eventually.js';
import { BASE_URL, startService, type TestService, type TestUser } from '../../kit/index.js';
import {
  deliver,
  type FakeProvider,
  type ProviderRequest,
  ProviderSubscription,
  sendError,
  sendJson,
  startProvider,
  WEBHOOK_SECRET,
} from '../../kit/payment-provider.js';

const PORTAL = '/api/v1/subscription/portal-url';
const CHECKOUT = '/api/v1/subscription/checkout-url';
const KEY = 'sk_test_key_of_the_provider';
const NOW = new Date('2026-03-01T12:00:00.000Z');

let provider: FakeProvider;
let service: TestService;
let beside: TestService;
beforeAll(async () => {
  provider = await startProvider();
  const env = {
    STRIPE_SECRET_KEY: KEY,
    STRIPE_API_BASE: provider.url,
    STRIPE_PRICE_ID: 'price_of_the_subscription',
    BILLING_RETURN_URL: 'https://notes.example.org/settings',
    PAYMENT_WEBHOOK_SECRET: WEBHOOK_SECRET,
  };
  service = await startService({ env });
  beside = await startService({ env, beside: service });
  service.clock.stopAt(NOW); // an idempotency key is valid for some minutes, which must not end within a test
});
afterAll(async () => {
  await beside.close();
  await service.close();
  await provider.close();
});
beforeEach(() => {
  provider.requests.length = 0;
  provider.customers.length = 0;
  provider.answer = undefined;
  provider.pause = () => Promise.resolve();
});

const urlOf = async (user: TestUser, path = CHECKOUT): Promise<string> => {
  const { body } = await (path === PORTAL ? user.get(path) : user.post(path)).expect(200);
  expect(Object.keys(body)).toEqual(['url']);
  return body.url;
};

const customerOf = async ({ id }: TestUser): Promise<unknown> =>
  (await service.database.query('SELECT customer_id FROM payment_customers WHERE user_id = $1', [id]))[0]
    ?.customer_id;

describe(`POST ${CHECKOUT}`, () => {
  it('leaves no customer behind when the account is deleted meanwhile', async () => {
    const leaver = await service.newcomer('goes-at-the-checkout');
    provider.pause = () => leaver.delete('/api/v1/auth/me').send({ confirm: leaver.email }).expect(200);
    await leaver.post(CHECKOUT).expect(401);
    const asked = provider.requests.map(({ method, path }) => `${method} ${path}`);
    expect(asked).toEqual(['POST /v1/customers', `DELETE /v1/customers/${provider.customers[0]}`]);
  });

  it('creates a customer for the user, and returns the address of its checkout page', async () => {
    const alice = await service.newcomer('buys');
    expect(await urlOf(alice)).toBe(`https://pay.example/checkout/${provider.customers[0]}`);
    expect(await customerOf(alice)).toBe(provider.customers[0]);

    const [customer, session] = provider.requests;
    expect(customer).toMatchObject({
      path: '/v1/customers',
      form: { email: alice.email, 'metadata[userId]': alice.id },
      headers: { authorization: `Bearer ${KEY}`, 'idempotency-key': expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    expect(session).toMatchObject({
      path: '/v1/checkout/sessions',
      form: {
        mode: 'subscription',
        customer: provider.customers[0],
        client_reference_id: alice.id,
        'line_items[0][price]': 'price_of_the_subscription',
        'line_items[0][quantity]': '1',
        'subscription_data[metadata][userId]': alice.id,
        success_url: 'https://notes.example.org/settings',
        cancel_url: 'https://notes.example.org/settings',
      },
    });
  });

  it('creates no second customer for a user', async () => {
    const alice = await service.newcomer('buys-again');
    const first = await urlOf(alice);
    service.clock.advance(3 * 24 * 3600_000);
    expect(await urlOf(await service.newcomer('buys-again'))).toBe(first);
    service.clock.stopAt(NOW);
    expect(provider.customers).toHaveLength(1);
  });

  it('creates one customer for ten concurrent requests on two instances', async () => {
    const alice = await service.newcomer('buys-twice');
    const asking = (): ProviderRequest[] => provider.requests.filter(({ path }) => path === '/v1/customers');
    provider.pause = () => eventually(() => expect(asking().length).toBeGreaterThan(1));
    const asked = Array.from({ length: 10 }, (_, n) => urlOf(alice.at([service, beside][n % 2]!.url)));
    expect(new Set(await Promise.all(asked)).size).toBe(1);
    expect(provider.customers).toHaveLength(1);
    expect(await customerOf(alice)).toBe(provider.customers[0]);
  });

  it('creates another customer when the provider has deleted the first', async () => {
    const alice = await service.newcomer('buys-anew');
    await urlOf(alice);
    const [gone] = provider.customers;
    provider.answer = (request, response) => {
      provider.answer = undefined;
      expect(request.form.customer).toBe(gone);
      sendError(response, 400, { code: 'resource_missing', param: 'customer' });
    };
    const url = await urlOf(alice);
    expect(provider.customers).toHaveLength(2);
    expect(url).toBe(`https://pay.example/checkout/${provider.customers[1]}`);
    expect(await customerOf(alice)).toBe(provider.customers[1]);
  });

  it('leads to an active subscription: events with the customer id are matched to the user', async () => {
    const alice = await service.newcomer('becomes-active');
    await urlOf(alice);
    const subscription = new ProviderSubscription('', provider.customers[0]);
    await deliver(service.url, subscription.created(NOW), NOW).expect(200);
    expect((await alice.get('/api/v1/subscription').expect(200)).body.status).toBe('active');
    await alice.post('/api/v1/workspaces').send({ name: 'bought' }).expect(201);
  });

  it('is 409 for a user with a running subscription, without a request to the provider', async () => {
    const alice = await service.newcomer('has-bought');
    const subscription = new ProviderSubscription(alice.id);
    for (const status of ['active', 'past_due', 'trialing']) {
      await deliver(service.url, subscription.updated(NOW, { status }), NOW).expect(200);
      await alice.post(CHECKOUT).expect(409);
    }
    expect(provider.requests).toEqual([]);
    await deliver(service.url, subscription.deleted(NOW), NOW).expect(200);
    await urlOf(alice);
  });

  it('is available during the trial of the service, and with a granted plan', async () => {
    await urlOf(await service.user('buys-in-trial'));
    const alice = await service.newcomer('granted');
    await service.app.get(Subscriptions).grant(alice.id, 'active', null);
    await urlOf(alice);
  });

  it('is 503 without a price, and 409 with SUBSCRIPTIONS=off', async () => {
    const env = { STRIPE_SECRET_KEY: KEY, STRIPE_API_BASE: provider.url };
    const alice = await service.newcomer('nothing-for-sale');
    const priceless = await startService({ beside: service, env });
    await alice.at(priceless.url).post(CHECKOUT).expect(503);
    await priceless.close();
    const off = await startService({
      beside: service,
      env: { ...env, STRIPE_PRICE_ID: 'p', SUBSCRIPTIONS: 'off' },
    });
    await alice.at(off.url).post(CHECKOUT).expect(409);
    await off.close();
    expect(provider.requests).toEqual([]);
  });

  it('returns the browser to BASE_URL by default', async () => {
    const env = { STRIPE_SECRET_KEY: KEY, STRIPE_API_BASE: provider.url, STRIPE_PRICE_ID: 'p' };
    const plain = await startService({ beside: service, env });
    await urlOf((await service.newcomer('leads-back')).at(plain.url));
    await plain.close();
    expect(provider.requests.at(-1)?.form).toMatchObject({ success_url: BASE_URL, cancel_url: BASE_URL });
  });
});

describe(`GET ${PORTAL}`, () => {
  it('returns the page on which a customer manages the subscription', async () => {
    const alice = await service.newcomer('portal');
    await urlOf(alice);
    expect(await urlOf(alice, PORTAL)).toBe(`https://pay.example/billing_portal/${provider.customers[0]}`);
    expect(provider.requests.at(-1)).toMatchObject({
      path: '/v1/billing_portal/sessions',
      form: { customer: provider.customers[0], return_url: 'https://notes.example.org/settings' },
    });
  });

  it('works for a customer that is known from an event', async () => {
    const alice = await service.newcomer('portal-by-event');
    const subscription = new ProviderSubscription(alice.id);
    await deliver(service.url, subscription.created(NOW), NOW).expect(200);
    expect(await urlOf(alice, PORTAL)).toBe(`https://pay.example/billing_portal/${subscription.customerId}`);
  });

  it('is 404 without a customer id, and for an id that the provider no longer knows', async () => {
    const alice = await service.newcomer('portal-404');
    const { body } = await alice.get(PORTAL).expect(404);
    expect(body).toEqual({ error: expect.any(String) });
    expect(provider.requests).toEqual([]);
    await urlOf(alice);
    provider.answer = (_, response) =>
      sendError(response, 400, { code: 'resource_missing', param: 'customer' });
    await alice.get(PORTAL).expect(404);
  });
});

describe('without a provider', () => {
  it('portal and checkout are 503 with Retry-After, including for a user without a customer id', async () => {
    const bare = await startService({ beside: service });
    const alice = (await service.newcomer('no-provider')).at(bare.url);
    for (const answer of [await alice.get(PORTAL).expect(503), await alice.post(CHECKOUT).expect(503)]) {
      expect(answer.body).toEqual({ error: expect.any(String) });
      expect(answer.headers['retry-after']).toMatch(/^\d+$/);
    }
    await bare.close();
  });
});

describe('portal and checkout', () => {
  it('need a JWT or a full token', async () => {
    const alice = await service.newcomer('scopes');
    await urlOf(alice);
    const mint = async (scopes: string[]): Promise<TestUser> => {
      const { body } = await alice.post('/api/v1/auth/tokens').send({ name: 'scopes', scopes }).expect(201);
      return alice.at(service.url, body.token);
    };
    const narrow = await mint([
      'documents:read',
      'documents:write',
      'assets:read',
      'assets:write',
      'agent:invoke',
    ]);
    await narrow.get(PORTAL).expect(403);
    await narrow.post(CHECKOUT).expect(403);
    const full = await mint(['full']);
    await full.get(PORTAL).expect(200);
    await full.post(CHECKOUT).expect(200);
  });
});

describe('a fault of the provider', () => {
  const faults: [string, NonNullable<FakeProvider['answer']>][] = [
    ['401: the key is wrong', (_, response) => sendError(response, 401, { code: 'api_key_expired' })],
    [
      '400: the price is unknown',
      (_, response) => sendError(response, 400, { code: 'resource_missing', param: 'price' }),
    ],
    ['402', (_, response) => sendError(response, 402, { type: 'card_error' })],
    ['429', (_, response) => sendError(response, 429, { code: 'rate_limit' })],
    ['500', (_, response) => sendError(response, 500, { type: 'api_error' })],
    [
      'an answer that is not JSON',
      (_, response) => sendJson(response, 200, '<html>SECRET-OF-THE-PROVIDER</html>'),
    ],
    ['an answer that is a number', (_, response) => sendJson(response, 200, '1')],
    ['500 with a JSON string', (_, response) => sendJson(response, 500, '"SECRET-OF-THE-PROVIDER"')],
    [
      '500 with the body of a success',
      (_, response) => sendJson(response, 500, '{"id":"cus_of_nobody","url":"https://pay.example/"}'),
    ],
    ['an answer that is null', (_, response) => sendJson(response, 200, 'null')],
    ['an answer with wrong fields', (_, response) => sendJson(response, 200, '{"id":7,"url":null}')],
    ['a connection that breaks', (_, response) => void response.destroy()],
    [
      'a truncated answer',
      (_, response) =>
        void response.writeHead(200, { 'content-length': 99 }).write('{', () => response.destroy()),
    ],
    [
      'a redirect, which would send the API key elsewhere',
      (_, response) => void response.writeHead(307, { location: `${provider.url}/elsewhere` }).end(),
    ],
    [
      'a redirect that says the customer is gone',
      (_, response) => sendError(response, 307, { code: 'resource_missing', param: 'customer' }),
    ],
  ];

  it.each(faults)('is 503 with Retry-After, and changes nothing: %s', async (_, answer) => {
    const alice = await service.newcomer(`fault-${randomUUID()}`);
    provider.answer = answer;
    const before = await checksums(service.database);
    const refused = await alice.post(CHECKOUT).expect(503);
    expect(refused.body).toEqual({ error: 'the payment provider is not available' });
    expect(refused.headers['retry-after']).toMatch(/^\d+$/);
    expect(await checksums(service.database)).toEqual(before);
    expect(provider.requests.map(({ path }) => path)).not.toContain('/elsewhere');
    expect(provider.requests.length).toBeLessThanOrEqual(3);
  });

  it('is overcome by a retry with the same idempotency key', async () => {
    const alice = await service.newcomer('fault-over');
    provider.answer = (_, response) => {
      provider.answer = undefined;
      sendError(response, 500, { type: 'api_error' });
    };
    await urlOf(alice);
    const keys = provider.requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys[0]).toBe(keys[1]);
    expect(provider.customers).toHaveLength(1);
  });

  it('is logged without the text of the provider and without the API key', () => {
    const logged = `${service.logged()}${beside.logged()}`;
    expect(logged).toContain('could not create a customer');
    expect(logged).toContain('api_key_expired');
    expect(logged).not.toContain('SECRET-OF-THE-PROVIDER');
    expect(logged).not.toContain(KEY);
  });
});
