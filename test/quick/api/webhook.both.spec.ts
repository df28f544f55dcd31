import { createHmac, randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import supertest from 'supertest';
import { Subscriptions } from '../../../src/domain/billing/index.js';
import { WebhookController } from '../../../src/domain/billing/webhook.controller.js';
import { InFlightRequests, networkKey } from '../../../src/platform/http/index.js';
import type { FairSemaphore } from '../../../src/platform/limits/index.js';
import { KillSwitch } from '../../../src/platform/kill-switch.js';
import { checksums } from '../../kit/checksums.js';
import { BASE_URL, eventually, startService, type TestService, type TestUser } from '../../kit/index.js';
import {
  deliver,
  eventOf,
  postRaw,
  type ProviderEvent,
  ProviderSubscription,
  signed,
  type SubscriptionOptions,
  WEBHOOK,
  WEBHOOK_SECRET,
} from '../../kit/payment-provider.js';
import { holdTimers } from '../../kit/held-timers.js';
import { answerOf, earlyAnswer, headOf, openSocket, received } from '../../kit/raw-http.js';
import { describeDeep, itDeep } from '../../kit/rounds.js';

const NOW = new Date('2026-03-01T12:00:00.000Z');
const DAY_MS = 24 * 60 * 60_000;
const env = { PAYMENT_WEBHOOK_SECRET: `whsec_of_last_year, ${WEBHOOK_SECRET}`, TRUST_PROXY: 'true' };

let service: TestService;
beforeAll(async () => {
  service = await startService({ env });
});
afterAll(() => service.close());
beforeEach(() => service.clock.stopAt(NOW));

/** This many seconds after NOW. */
const at = (second: number): Date => new Date(NOW.getTime() + second * 1000);

const send = (event: object): supertest.Test => deliver(service.url, event, service.clock.now());

async function sendAll(...events: object[]): Promise<void> {
  for (const event of events) await send(event).expect(200, { received: true });
}

async function info(user: TestUser): Promise<Record<string, unknown>> {
  return (await user.get('/api/v1/subscription').expect(200)).body;
}

async function statusOf(user: TestUser): Promise<unknown> {
  return (await info(user)).status;
}

/** Whether the user may use what needs a subscription, asked of a route that changes nothing. */
async function isActive(user: TestUser): Promise<boolean> {
  const { status } = await user.post('/api/v1/workspaces').send({ name: '' });
  expect([400, 402]).toContain(status);
  return status === 400;
}

/** A user on the free plan with a subscription at the provider. */
async function buyer(name: string): Promise<{ alice: TestUser; subscription: ProviderSubscription }> {
  const alice = await service.newcomer(name);
  return { alice, subscription: new ProviderSubscription(alice.id) };
}

/** Expects a flat error and no change in any table. */
async function expectRefused(test: () => supertest.Test, status = 400): Promise<void> {
  const before = await checksums(service.database);
  const answer = await test();
  expect({ status: answer.status, body: answer.body }).toEqual({
    status,
    body: { error: expect.any(String) },
  });
  expect(await checksums(service.database)).toEqual(before);
}

/** Expects success and no change in any table. */
async function expectLetPass(event: object): Promise<void> {
  const before = await checksums(service.database);
  await send(event).expect(200, { received: true });
  expect(await checksums(service.database)).toEqual(before);
}

describe(`the signature of POST ${WEBHOOK}`, () => {
  let event: ProviderEvent;
  let body: string;
  beforeAll(async () => {
    const { subscription } = await buyer('signature');
    event = subscription.created(NOW);
    body = JSON.stringify(event);
  });
  const post = (headers: Record<string, string>, sent: string | Buffer = body): supertest.Test =>
    postRaw(service.url, sent, headers);
  const hex = (secret = WEBHOOK_SECRET, sent = body): string =>
    createHmac('sha256', secret).update(sent).digest('hex');

  it.each<[string, () => Record<string, string>]>([
    ['the provider’s form', () => ({ 'Payment-Signature': signed(body, NOW) })],
    ['the provider’s form under the provider’s name', () => ({ 'Stripe-Signature': signed(body, NOW) })],
    ['a bare HMAC', () => ({ 'Payment-Signature': hex() })],
    ['a bare HMAC in capitals', () => ({ 'Payment-Signature': hex().toUpperCase() })],
    ['another of the secrets', () => ({ 'Payment-Signature': signed(body, NOW, 'whsec_of_last_year') })],
    ['a bare HMAC of another of the secrets', () => ({ 'Payment-Signature': hex('whsec_of_last_year') })],
    [
      'several signatures, one of them valid, and an unknown scheme',
      () => ({
        'Payment-Signature': signed(body, NOW).replace('v1=', `v1=${'0'.repeat(64)},v0=ab,v1=`),
      }),
    ],
    ['300 seconds old', () => ({ 'Payment-Signature': signed(body, at(-300)) })],
    ['300 seconds ahead', () => ({ 'Payment-Signature': signed(body, at(300)) })],
    [
      'a bad one under the other name beside a good one',
      () => ({ 'Payment-Signature': hex(), 'Stripe-Signature': 'x' }),
    ],
  ])('is valid: %s', async (_, headers) => {
    await post(headers()).expect(200, { received: true });
  });

  it.each<[string, () => Record<string, string>]>([
    ['missing', () => ({})],
    ['empty', () => ({ 'Payment-Signature': '' })],
    ['arbitrary text', () => ({ 'Payment-Signature': 'signature' })],
    ['of another secret', () => ({ 'Payment-Signature': signed(body, NOW, 'whsec_of_somebody') })],
    ['a bare HMAC of another secret', () => ({ 'Payment-Signature': hex('whsec_of_somebody') })],
    [
      'a bare HMAC with a byte changed',
      () => ({ 'Payment-Signature': hex().replace(/^./, (c) => (c === '0' ? '1' : '0')) }),
    ],
    ['a bare HMAC cut short', () => ({ 'Payment-Signature': hex().slice(0, 62) })],
    ['of another body', () => ({ 'Payment-Signature': signed(`${body} `, NOW) })],
    [
      'of the body without its time',
      () => ({ 'Payment-Signature': `t=${NOW.getTime() / 1000},v1=${hex()}` }),
    ],
    [
      'with a newer time put in',
      () => ({ 'Payment-Signature': signed(body, at(-400)).replace(/t=\d+/, `t=${NOW.getTime() / 1000}`) }),
    ],
    [
      'with a newer time put beside',
      () => ({ 'Payment-Signature': `${signed(body, at(-400))},t=${NOW.getTime() / 1000}` }),
    ],
    ['301 seconds old', () => ({ 'Payment-Signature': signed(body, at(-301)) })],
    ['301 seconds ahead', () => ({ 'Payment-Signature': signed(body, at(301)) })],
    ['only of an older scheme', () => ({ 'Payment-Signature': signed(body, NOW).replace('v1', 'v0') })],
    ['without a time', () => ({ 'Payment-Signature': signed(body, NOW).replace(/^t=\d+,/, '') })],
    ['with a malformed time', () => ({ 'Payment-Signature': signed(body, NOW).replace(/t=\d+/, 't=NaN') })],
    ['with an empty signature', () => ({ 'Payment-Signature': `t=${NOW.getTime() / 1000},v1=` })],
    [
      'with a signature that is no ASCII',
      () => ({ 'Payment-Signature': `t=${NOW.getTime() / 1000},v1=${'é'.repeat(64)}` }),
    ],
    [
      'bad, with a good one under the other name',
      () => ({ 'Payment-Signature': hex('x'), 'Stripe-Signature': signed(body, NOW) }),
    ],
  ])('is refused: %s', async (_, headers) => {
    await expectRefused(() => post(headers()));
  });

  it('covers the exact bytes of the body', async () => {
    const spaced = JSON.stringify(event, null, 1);
    await expectRefused(() => post({ 'Payment-Signature': signed(body, NOW) }, spaced));
    await post({ 'Payment-Signature': signed(spaced, NOW) }, spaced).expect(200);
    const latin1 = Buffer.from(body.replace('somebody', 'zoë').replace('"application"', '"é"'), 'latin1');
    await expectRefused(() => post({ 'Payment-Signature': signed(latin1.toString('utf8'), NOW) }, latin1));
  });

  it('is invalid when it is sent twice in one request', async () => {
    const head = headOf('POST', WEBHOOK, {
      Host: 'x',
      Connection: 'close',
      'Content-Length': String(Buffer.byteLength(body)),
    }).toString('latin1');
    const lines = [signed(body, NOW), signed(body, NOW)]
      .map((one) => `Payment-Signature: ${one}\r\n`)
      .join('');
    const socket = openSocket(service.url);
    socket.write(head.replace(/\r\n\r\n$/, `\r\n${lines}\r\n`) + body);
    expect(answerOf(await received(socket)).status).toBe(400);
  });

  it('does not appear in the log, nor does a secret', () => {
    expect(service.logged()).not.toContain('whsec_of');
    expect(service.logged()).not.toContain(hex());
    expect(service.logged()).not.toContain(signed(body, NOW).split('v1=')[1]);
  });
});

describeDeep('a service without a signing secret', () => {
  it('accepts unsigned events in development and in tests', async () => {
    for (const NODE_ENV of ['development', 'test']) {
      const open = await startService({ beside: service, env: { NODE_ENV } });
      const { alice, subscription } = await buyer(`unsigned-${NODE_ENV}`);
      const event = subscription.created(NOW);
      await postRaw(open.url, JSON.stringify(event), { 'Payment-Signature': 'anything' }).expect(200);
      expect(await statusOf(alice)).toBe('active');
      await open.close();
    }
  });

  it('answers 503 in production and changes no row', async () => {
    const AUTH_SECRET = randomUUID() + randomUUID();
    const { subscription } = await buyer('closed');
    const body = JSON.stringify(subscription.created(NOW));
    // A database of its own: the signing keys of the other one are sealed with another AUTH_SECRET.
    const closed = await startService({
      env: { NODE_ENV: 'production', AUTH_SECRET, BASE_URL, SIGNUP_ENABLED: 'false' },
    });
    try {
      const before = await checksums(closed.database);
      for (const signature of ['', signed(body, NOW), signed(body, NOW, '')]) {
        const answer = await postRaw(closed.url, body, { 'Payment-Signature': signature }).expect(503);
        expect(answer.body).toEqual({ error: expect.any(String) });
        expect(answer.headers['retry-after']).toMatch(/^\d+$/);
      }
      expect(await checksums(closed.database)).toEqual(before);
    } finally {
      await closed.close();
    }
  });
});

describe('a body that does not arrive', () => {
  /** The head of a delivery and one byte. */
  function slow(signature: string | undefined): Socket {
    const socket = openSocket(service.url);
    const named: Record<string, string> = signature === undefined ? {} : { 'Payment-Signature': signature };
    socket.write(headOf('POST', WEBHOOK, { Host: 'x', 'Content-Length': '200', ...named }));
    return socket;
  }

  it.each<[string, () => string | undefined]>([
    ['no signature', () => undefined],
    ['a malformed signature', () => 'signature'],
    ['a signature that is too old', () => signed('', at(-301))],
    ['a signature from the future', () => signed('', at(301))],
  ])('is refused at once with %s', async (_, signature) => {
    const socket = slow(signature());
    const { status, body } = await earlyAnswer(socket);
    socket.destroy();
    expect([status, JSON.parse(body)]).toEqual([400, { error: expect.any(String) }]);
  });

  it('holds no slot, delays no other event and is 408 after five seconds', async () => {
    const { waiting } = service.app.get(InFlightRequests);
    const body = JSON.stringify(eventOf('ping', NOW, {}));
    const timers = holdTimers(5_000, 5_000);
    const sockets = Array.from({ length: 64 }, () => slow(signed('', NOW)));
    await eventually(() => expect(waiting.unsentBodies).toBe(64));
    await postRaw(service.url, body, { 'Payment-Signature': signed(body, NOW) }).expect(200);
    const answers = sockets.map((socket) => earlyAnswer(socket));
    timers.goOff(5_000);
    timers.release();
    expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set([408]));
    for (const socket of sockets) socket.destroy();
    await eventually(() => expect(waiting.size).toBe(0));
  });
});

describe('an event that waits for a slot', () => {
  it('does not delay events of other networks', async () => {
    const controller: unknown = service.app.get(WebhookController, { strict: false });
    const { bodies } = controller as { bodies: FairSemaphore };
    const body = JSON.stringify(eventOf('ping', NOW, {}));
    const post = (): supertest.Test => postRaw(service.url, body, { 'Payment-Signature': signed(body, NOW) });
    const timers = holdTimers(5_000, 5_000); // the wait for a slot
    const held = await Promise.all(Array.from({ length: 16 }, () => bodies.take(networkKey('127.0.0.1'))));
    const waiting = post().expect(200);
    const answered = waiting.then(() => undefined);
    await eventually(() => expect(bodies.queued).toBe(1));
    await post().set('X-Forwarded-For', '203.0.113.7').expect(200);
    for (const release of held) release();
    timers.release();
    await answered;
  });
});

describe('the body of an event', () => {
  const postSigned = (body: string | Buffer, headers: Record<string, string> = {}): supertest.Test =>
    postRaw(service.url, body, { 'Payment-Signature': signed(body, service.clock.now()), ...headers });

  it('may have 256 KiB, and not one byte more', async () => {
    const event = JSON.stringify(eventOf('ping', NOW, {}));
    const limit = 256 * 1024;
    await postSigned(event.padEnd(limit)).expect(200);
    await expectRefused(() => postSigned(event.padEnd(limit + 1)), 413);
  });

  it('may come in chunks without a length, and has the same limit', async () => {
    const socket = openSocket(service.url);
    const chunked = { Host: 'x', 'Transfer-Encoding': 'chunked', Connection: 'close' };
    socket.write(headOf('POST', WEBHOOK, { ...chunked, 'Payment-Signature': signed('', NOW) }));
    const chunk = `${(0x10000).toString(16)}\r\n${' '.repeat(0x10000)}\r\n`;
    socket.write(chunk.repeat(5));
    socket.write('0\r\n\r\n');
    expect(answerOf(await received(socket)).status).toBe(413);
  });

  it('is 415 when it is compressed', async () => {
    await expectRefused(() => postSigned('{}', { 'Content-Encoding': 'gzip' }), 415);
  });

  it.each<[string, string]>([
    ['nothing', ''],
    ['no JSON', '{"id":'],
    ['a list', '[]'],
    ['a text', '"event"'],
    ['null', 'null'],
  ])('is 400: %s', async (_, body) => {
    await expectRefused(() => postSigned(body));
  });

  it('is 400 when it is not UTF-8', async () => {
    await expectRefused(() => postSigned(Buffer.from('{"id":"evt_\xff","type":"ping"}', 'latin1')));
  });

  /** Contents of parts that the service does not read. */
  const HARMLESS: [string, string][] = [
    ['a key __proto__', '"metadata":{"__proto__":{"isAdmin":true,"userId":"x"},"userId":"USER"}'],
    ['a key constructor', '"metadata":{"constructor":{"prototype":{"status":"x"}},"userId":"USER"}'],
    ['a key prototype', '"prototype":{"id":"sub_other"},"metadata":{"prototype":"x","userId":"USER"}'],
    ['an own key __proto__', '"__proto__":{"status":"canceled"},"metadata":{"userId":"USER"}'],
    ['30,000 values', `"metadata":{"userId":"USER","n":[${Array(30_000).fill(1).join(',')}]}`],
    ['100,000 levels', `"metadata":{"userId":"USER","n":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    [
      'half a surrogate pair',
      String.raw`"metadata":{"userId":"USER","note":"\ud800"},"description":"\udc00"`,
    ],
    ['a NUL', String.raw`"metadata":{"userId":"USER","note":"\u0000"}`],
    ['a key twice', '"metadata":{"userId":"x"},"metadata":{"userId":"USER"}'],
  ];
  it.each(HARMLESS)('may have %s in unused parts: the user gets the plan', async (name, fields) => {
    const { alice, subscription } = await buyer(`harmless-${name.replaceAll(/\W+/g, '-')}`);
    const event = subscription.created(NOW, { fields: { metadata: undefined, marker: 1 } });
    const body = JSON.stringify(event).replace('"marker":1', () => fields.replace('USER', alice.id));
    await postSigned(body).expect(200, { received: true });
    expect(await info(alice)).toMatchObject({ status: 'active', plan: 'pro' });
    expect({}).not.toHaveProperty('isAdmin');
    const rows = await service.database.query('SELECT * FROM payment_events WHERE user_id = $1', [alice.id]);
    expect(JSON.stringify(rows).length).toBeLessThan(1000);
  });

  it.each<[string, string]>([
    ['keys __proto__ and constructor', '"__proto__":{"a":1},"constructor":{"prototype":1}'],
    ['no id', '"data":{}'],
    ['a malformed id', '"id":[7]'],
    ['a malformed time', '"id":"evt_1","created":"soon"'],
    ['nothing but a type', '"object":"event"'],
    ['100,000 levels', `"data":${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['30,000 values', `"data":[${Array(30_000).fill(1).join(',')}]`],
  ])('of an ignored type is accepted with %s', async (_, fields) => {
    const before = await checksums(service.database);
    await postSigned(`{"type":"invoice.paid",${fields}}`).expect(200, { received: true });
    expect(await checksums(service.database)).toEqual(before);
  });

  it('may name a type of any length, which is truncated in the log', async () => {
    await postSigned(JSON.stringify({ type: `${'long.'.repeat(20)}end-of-type` })).expect(200);
    expect(service.logged()).toContain('long.'.repeat(20));
    expect(service.logged()).not.toContain('end-of-type');
  });

  it('sets the plan pro for a plan that cannot be stored', async () => {
    const { alice, subscription } = await buyer('half-a-plan');
    await sendAll(subscription.created(NOW, { lookupKey: '\ud800' }));
    expect(await info(alice)).toMatchObject({ status: 'active', plan: 'pro' });
  });

  const spoilt: [string, (event: ProviderEvent) => object][] = [
    ['no id', (event) => ({ ...event, id: undefined })],
    ['an id that is no text', (event) => ({ ...event, id: 7 })],
    ['an id with a NUL', (event) => ({ ...event, id: 'evt\u0000' })],
    ['an id beyond 255 characters', (event) => ({ ...event, id: 'e'.repeat(256) })],
    ['no type', (event) => ({ ...event, type: undefined })],
    ['a type that is no text', (event) => ({ ...event, type: ['customer.subscription.created'] })],
    ['a time that is a text', (event) => ({ ...event, created: 'yesterday' })],
    ['a time before 1970', (event) => ({ ...event, created: -1 })],
    ['a time beyond the range of dates', (event) => ({ ...event, created: 1e15 })],
    ['a fraction of a second', (event) => ({ ...event, created: 1.5 })],
    ['no data', (event) => ({ ...event, data: undefined })],
    ['data that are no object', (event) => ({ ...event, data: 'x' })],
    ['no object', (event) => ({ ...event, data: {} })],
    ['an object that is null', (event) => ({ ...event, data: { object: null } })],
  ];
  it.each(spoilt)('is 400 with %s', async (_, spoil) => {
    const { subscription } = await buyer('spoilt');
    await expectRefused(() => send(spoil(subscription.created(NOW))));
  });

  const spoiltObjects: [string, Record<string, unknown>][] = [
    ['no id', { id: undefined }],
    ['an id that is a number', { id: 12 }],
    ['no status', { status: undefined }],
    ['a status that is no text', { status: 1 }],
    ['a period that ends in words', { current_period_end: 'soon' }],
    ['a period beyond the range of dates', { current_period_end: 1e300 }],
    ['a trial that ends in words', { status: 'trialing', trial_end: '2026' }],
  ];
  it.each(spoiltObjects)('is 400 with a subscription that has %s', async (_, fields) => {
    const { subscription } = await buyer('spoilt');
    await expectRefused(() => send(subscription.created(NOW, { fields })));
  });

  it('is dated by its arrival when it has no time', async () => {
    const { alice, subscription } = await buyer('timeless');
    const event = { ...subscription.created(NOW), created: undefined };
    await sendAll(subscription.updated(at(-1), { status: 'past_due' }), event);
    expect(await statusOf(alice)).toBe('active');
  });

  itDeep('never causes a 5xx, whatever its values are', async () => {
    const { subscription } = await buyer('fuzz');
    const values = [
      null,
      0,
      -1,
      1.5,
      1e400,
      '',
      '\u0000',
      'x',
      [],
      [null],
      {},
      { id: {} },
      true,
      'é'.repeat(300),
    ];
    const events = [subscription.created(NOW, { status: 'trialing' }), subscription.paymentFailed(NOW)];
    for (const [event, path] of events.flatMap((one) => LOOKED_AT.map((place) => [one, place] as const))) {
      const answers = values.map(async (value) => (await send(withValue(event, path, value))).status);
      const others = (await Promise.all(answers)).filter((status) => status !== 200 && status !== 400);
      expect({ path, others }).toEqual({ path, others: [] });
    }
  });
});

type Path = (string | number)[];

/** The paths of an event that the service reads, and their parents. */
const LOOKED_AT: Path[] = [
  ['id'],
  ['type'],
  ['created'],
  ['data'],
  ['data', 'object'],
  ...[
    ...[['id'], ['status'], ['customer'], ['metadata'], ['metadata', 'userId'], ['subscription'], ['parent']],
    ...[['current_period_end'], ['cancel_at'], ['cancel_at_period_end'], ['trial_start'], ['trial_end']],
    ...[['items'], ['items', 'data'], ['items', 'data', 0], ['items', 'data', 0, 'current_period_end']],
    ...[
      ['items', 'data', 0, 'price'],
      ['items', 'data', 0, 'price', 'lookup_key'],
      ['lines'],
      ['lines', 'data'],
    ],
    ...[
      ['parent', 'subscription_details'],
      ['parent', 'subscription_details', 'subscription'],
    ],
  ].map((path) => ['data', 'object', ...path]),
];

function withValue(event: object, path: Path, value: unknown): object {
  const copy = { ...structuredClone(event), id: `evt_${randomUUID()}` } as Record<string, unknown>;
  const last = path.at(-1)!;
  const holder = path
    .slice(0, -1)
    .reduce<Record<string, unknown>>((inner, key) => (inner[key] ??= {}) as Record<string, unknown>, copy);
  holder[last] = value;
  return copy;
}

describe('an event', () => {
  const statuses: [string, string, boolean][] = [
    ['trialing', 'trial', true],
    ['active', 'active', true],
    ['past_due', 'past_due', true],
    ['unpaid', 'past_due', true],
    ['canceled', 'cancelled', true],
    ['incomplete', 'free', false],
    ['incomplete_expired', 'expired', false],
    ['paused', 'expired', false],
    ['a status of next year', 'free', false],
  ];
  const trialing = { trial_start: at(-60).getTime() / 1000, trial_end: at(600).getTime() / 1000 };

  describe.each(['created', 'updated'] as const)('customer.subscription.%s', (kind) => {
    it.each(statuses)('%s → %s', async (status, expected, active) => {
      const { alice, subscription } = await buyer(`${kind}-${status.replaceAll(' ', '-')}`);
      await sendAll(
        subscription[kind](NOW, { status, ...(status === 'trialing' ? { fields: trialing } : {}) }),
      );
      expect(await statusOf(alice)).toBe(expected);
      expect(await isActive(alice)).toBe(active);
    });
  });

  it('customer.subscription.deleted → cancelled, active until the end of the paid period', async () => {
    const { alice, subscription } = await buyer('deleted');
    const paid = { periodEnd: at(60) };
    await sendAll(subscription.created(at(-9), paid), subscription.deleted(at(-1), paid));
    expect(await info(alice)).toMatchObject({ status: 'cancelled', currentPeriodEnd: at(60).toISOString() });
    expect(await isActive(alice)).toBe(true);
    service.clock.stopAt(at(60));
    expect(await isActive(alice)).toBe(false);
    expect(await statusOf(alice)).toBe('cancelled');
  });

  it('invoice.payment_failed → past_due since the first failure, still active', async () => {
    const { alice, subscription } = await buyer('failed');
    await sendAll(subscription.created(at(-9)), subscription.paymentFailed(at(-5)));
    expect(await statusOf(alice)).toBe('past_due');
    expect(await isActive(alice)).toBe(true);
    await sendAll(subscription.paymentFailed(at(-2)));
    const [row] = await service.database.query(
      'SELECT past_due_since FROM subscriptions WHERE user_id = $1',
      [alice.id],
    );
    expect(row).toEqual({ past_due_since: at(-5) });
  });

  it('is ignored as invoice.payment_failed unless the state is active, trial or past_due', async () => {
    const free = await buyer('failed-free');
    await sendAll(free.subscription.paymentFailed(NOW));
    expect(await statusOf(free.alice)).toBe('free');
    const ended = await buyer('failed-ended');
    await sendAll(ended.subscription.deleted(at(-1)), ended.subscription.paymentFailed(NOW));
    expect(await statusOf(ended.alice)).toBe('cancelled');
    const trial = await service.user('failed-trial');
    await sendAll(new ProviderSubscription(trial.id).paymentFailed(at(1)));
    expect(await statusOf(trial)).toBe('past_due');
  });

  it('stores the trial of the provider, and keeps its dates afterwards', async () => {
    const { alice, subscription } = await buyer('provider-trial');
    await sendAll(subscription.created(at(-9), { status: 'trialing', fields: trialing, periodEnd: at(600) }));
    const dates = { trialStartDate: at(-60).toISOString(), trialEndDate: at(600).toISOString() };
    expect(await info(alice)).toEqual({
      ...{ plan: 'pro', status: 'trial', ...dates },
      ...{ currentPeriodEnd: at(600).toISOString(), cancelAtPeriodEnd: false },
    });
    service.clock.stopAt(at(600));
    expect(await statusOf(alice)).toBe('expired');
    expect(await isActive(alice)).toBe(false);
    await sendAll(subscription.updated(at(601)));
    expect(await info(alice)).toMatchObject({ status: 'active', ...dates });
    await alice.post('/api/v1/subscription/trial').expect(409);
  });

  it('keeps the dates of a trial of the service when the provider has none', async () => {
    const alice = await service.user('own-trial');
    const { trialStartDate, trialEndDate } = await info(alice);
    await sendAll(new ProviderSubscription(alice.id).created(at(5)));
    expect(await info(alice)).toMatchObject({ status: 'active', trialStartDate, trialEndDate });
    expect(trialStartDate).toBe(NOW.toISOString());
  });

  it('changes nothing when it is incomplete', async () => {
    const alice = await service.user('incomplete');
    const before = await info(alice);
    const subscription = new ProviderSubscription(alice.id);
    await sendAll(
      subscription.created(NOW, { status: 'incomplete' }),
      subscription.updated(at(1), { status: 'incomplete' }),
    );
    expect(await info(alice)).toEqual(before);
    expect(
      await service.database.query('SELECT FROM payment_customers WHERE user_id = $1', [alice.id]),
    ).toEqual([]);
  });

  it('does not end a trial of the service when a purchase was abandoned', async () => {
    const alice = await service.newcomer('broken-off');
    const subscription = new ProviderSubscription(alice.id);
    await sendAll(subscription.created(at(-9), { status: 'incomplete' }));
    await alice.post('/api/v1/subscription/trial').expect(200);
    const trial = await info(alice);
    await sendAll(subscription.paymentFailed(at(-8), { billing_reason: 'subscription_create' }));
    await sendAll(subscription.updated(at(5), { status: 'incomplete_expired' }));
    expect(await info(alice)).toEqual(trial);
  });

  it('is accepted and ignored when its type or its customer is unknown', async () => {
    const { alice, subscription } = await buyer('let-pass');
    const stranger = new ProviderSubscription(randomUUID());
    await expectLetPass(eventOf('invoice.paid', NOW, { customer: subscription.customerId }));
    await expectLetPass(eventOf('customer.subscription.paused', NOW, { metadata: { userId: alice.id } }));
    await expectLetPass({ id: 'evt_thin', type: 'v1.thing' });
    await expectLetPass(stranger.created(NOW));
    await expectLetPass(stranger.paymentFailed(NOW));
    await expectLetPass(new ProviderSubscription("x' OR true").created(NOW));
    await expectLetPass(eventOf('invoice.payment_failed', NOW, { metadata: { userId: alice.id } }));
    const logged = service.logged();
    expect(logged).toContain('unknown_customer');
    expect(logged).toContain('ignored');
    expect(logged).toContain('invoice.paid');
  });
});

describe('the user of an event', () => {
  it('is found by metadata.userId, and from then on by the customer', async () => {
    const { alice, subscription } = await buyer('by-customer');
    const { customerId } = subscription;
    await sendAll(subscription.created(at(-9)));
    await sendAll(
      new ProviderSubscription('', customerId).updated(at(-8), {
        fields: { id: subscription.id, status: 'past_due' },
      }),
    );
    expect(await statusOf(alice)).toBe('past_due');
  });

  it('is the user of the customer when the metadata name another', async () => {
    const [one, other] = [await buyer('customer-of-one'), await buyer('metadata-of-other')];
    await sendAll(one.subscription.created(at(-9)));
    await sendAll(
      new ProviderSubscription(other.alice.id, one.subscription.customerId).updated(at(-8), {
        status: 'past_due',
      }),
    );
    expect(await statusOf(one.alice)).toBe('past_due');
    expect(await statusOf(other.alice)).toBe('free');
  });

  it('is found by a customer that is sent as an object', async () => {
    const { alice, subscription } = await buyer('expanded');
    await sendAll(
      subscription.created(at(-9), {
        fields: { customer: { id: subscription.customerId, object: 'customer' } },
      }),
    );
    await sendAll(
      new ProviderSubscription('', subscription.customerId).created(at(-8), { status: 'past_due' }),
    );
    expect(await statusOf(alice)).toBe('past_due');
  });

  it('is deleted with all rows, and later events have an unknown customer', async () => {
    const { alice, subscription } = await buyer('gone');
    await sendAll(subscription.created(at(-9)));
    await service.database.query('DELETE FROM users WHERE id = $1', [alice.id]);
    for (const table of ['subscriptions', 'payment_events', 'payment_customers'])
      expect(await service.database.query(`SELECT FROM ${table} WHERE user_id = $1`, [alice.id])).toEqual([]);
    await expectLetPass(subscription.updated(at(-8)));
  });
});

describe('the object of an event, in the shapes of the API versions', () => {
  const end = at(9 * 24 * 3600);

  it.each(['periods on the subscription', 'periods on the items'] as const)('%s', async (shape) => {
    const alice = await service.newcomer(shape.replaceAll(' ', '-'));
    const subscription = new ProviderSubscription(alice.id, undefined, shape);
    await sendAll(subscription.created(at(-9), { periodEnd: end, lookupKey: 'team' }));
    expect(await info(alice)).toEqual({
      plan: 'team',
      status: 'active',
      trialStartDate: null,
      trialEndDate: null,
      currentPeriodEnd: end.toISOString(),
      cancelAtPeriodEnd: false,
    });
    await sendAll(subscription.paymentFailed(at(-8)));
    expect(await info(alice)).toMatchObject({
      plan: 'team',
      status: 'past_due',
      currentPeriodEnd: end.toISOString(),
    });
  });

  it.each<[string, SubscriptionOptions, object]>([
    ['without a lookup key the plan is pro', { lookupKey: null }, { plan: 'pro' }],
    [
      'without items too, and without a period',
      { fields: { items: undefined } },
      { plan: 'pro', currentPeriodEnd: null },
    ],
    ['a malformed lookup key', { lookupKey: 'a\u0000b' }, { plan: 'pro' }],
    [
      'cancelled at the end of the period',
      { fields: { cancel_at_period_end: true } },
      { cancelAtPeriodEnd: true },
    ],
    [
      'cancelled in flexible billing mode',
      { periodEnd: end, fields: { cancel_at: end.getTime() / 1000 } },
      { cancelAtPeriodEnd: true },
    ],
    [
      'a cancellation at some later time',
      { periodEnd: end, fields: { cancel_at: end.getTime() / 1000 + 1 } },
      { cancelAtPeriodEnd: false },
    ],
    [
      'several items: the one that lasts longest',
      {
        fields: {
          items: { data: [{ current_period_end: 1_800_000_000 }, { current_period_end: 1_900_000_000 }, {}] },
        },
      },
      { currentPeriodEnd: new Date(1_900_000_000_000).toISOString() },
    ],
    [
      'a trial that ends in the second in which it starts',
      { status: 'trialing', fields: { trial_start: 1_800_000_000, trial_end: 1_800_000_000 } },
      { status: 'trial', trialStartDate: null, trialEndDate: new Date(1_800_000_000_000).toISOString() },
    ],
    [
      'a trial that ends with its period',
      { status: 'trialing', periodEnd: end },
      { status: 'trial', trialEndDate: end.toISOString() },
    ],
  ])('%s', async (name, options, expected) => {
    const { alice, subscription } = await buyer(`shape-${name.replaceAll(/\W+/g, '-')}`);
    await sendAll(subscription.created(at(-9), options));
    expect(await info(alice)).toMatchObject(expected);
  });

  it.each<[string, (id: string) => Record<string, unknown>]>([
    ['itself', (subscription) => ({ subscription })],
    ['itself, as an object', (id) => ({ subscription: { id, object: 'subscription' } })],
    ['its parent', (subscription) => ({ parent: { subscription_details: { subscription } } })],
    [
      'its first line’s parent',
      (id) => ({ lines: { data: [{ parent: { subscription_item_details: { subscription: id } } }] } }),
    ],
    ['its first line', (subscription) => ({ lines: { data: [{ subscription }] } })],
  ])('an invoice names its subscription in %s', async (name, fields) => {
    const { alice, subscription } = await buyer(`invoice-${name.replaceAll(/\W+/g, '-')}`);
    await sendAll(subscription.created(at(-9)));
    const invoice = { object: 'invoice', customer: subscription.customerId, ...fields(subscription.id) };
    await sendAll(eventOf('invoice.payment_failed', at(-8), invoice));
    expect(await statusOf(alice)).toBe('past_due');
  });
});

describe('deliveries', () => {
  it('count once by event id, even after other events', async () => {
    const { alice, subscription } = await buyer('once');
    const failed = subscription.paymentFailed(at(-8));
    await sendAll(subscription.created(at(-9)), failed, subscription.updated(at(-8)));
    expect(await statusOf(alice)).toBe('active');
    await sendAll(failed);
    expect(await statusOf(alice)).toBe('active');
    expect(
      await service.database.query('SELECT FROM payment_events WHERE user_id = $1', [alice.id]),
    ).toHaveLength(3);
  });

  it('change nothing when they are older than the last applied one', async () => {
    const { alice, subscription } = await buyer('older');
    const fields = { trial_start: at(-9).getTime() / 1000, trial_end: at(-6).getTime() / 1000 };
    await sendAll(subscription.updated(at(-3), { periodEnd: at(99), fields }));
    const before = await info(alice);
    await sendAll(
      subscription.created(at(-9), { status: 'trialing', fields: { trial_end: at(5).getTime() / 1000 } }),
      subscription.updated(at(-4), { status: 'past_due', lookupKey: 'team' }),
      subscription.paymentFailed(at(-5)),
    );
    expect(await info(alice)).toEqual(before);
    await sendAll(subscription.deleted(at(-4)));
    expect(await statusOf(alice)).toBe('cancelled');
  });

  it('within the same second apply in order of arrival, except after a deletion', async () => {
    const { alice, subscription } = await buyer('same-second');
    await sendAll(subscription.updated(NOW), subscription.updated(NOW, { status: 'past_due' }));
    expect(await statusOf(alice)).toBe('past_due');
    await sendAll(subscription.updated(NOW));
    expect(await statusOf(alice)).toBe('active');
    await sendAll(subscription.paymentFailed(NOW), subscription.deleted(NOW));
    expect(await statusOf(alice)).toBe('cancelled');
    await sendAll(subscription.updated(NOW), subscription.created(NOW));
    expect(await statusOf(alice)).toBe('cancelled');
  });

  it('belong to the current subscription when they name none, unless for a single purchase', async () => {
    const { alice, subscription } = await buyer('unnamed');
    await sendAll(subscription.created(at(-9)));
    const failed = (id: string, more: object): Record<string, unknown> => ({
      ...{ id, type: 'invoice.payment_failed', created: at(-3).getTime() / 1000 },
      data: { object: { id: 'in_1', customer: subscription.customerId, ...more } },
    });
    await sendAll(failed('evt_single', { billing_reason: 'manual' }));
    expect(await statusOf(alice)).toBe('active');
    await sendAll(failed('evt_unnamed', {}));
    expect(await statusOf(alice)).toBe('past_due');
  });

  it('give a trial without an end thirty days', async () => {
    const { alice, subscription } = await buyer('endless');
    const fields = { status: 'trialing', items: { data: [] }, trial_end: null };
    await sendAll(subscription.created(NOW, { fields }));
    const end = new Date(NOW.getTime() + 30 * 24 * 60 * 60_000).toISOString();
    expect(await info(alice)).toMatchObject({ status: 'trial', trialEndDate: end });
  });

  it('for another subscription end nothing, and switch to it once it is active', async () => {
    const { alice, subscription: held } = await buyer('two');
    const other = new ProviderSubscription(alice.id, held.customerId);
    await sendAll(held.created(at(-9)));
    const before = await info(alice);
    await sendAll(
      other.created(at(-8), { status: 'incomplete' }),
      other.paymentFailed(at(-7)),
      other.updated(at(-6), { status: 'canceled' }),
      other.updated(at(-5), { status: 'paused' }),
      other.deleted(at(-4)),
    );
    expect(await info(alice)).toEqual(before);

    const third = new ProviderSubscription(alice.id, held.customerId);
    await sendAll(third.created(at(-3), { lookupKey: 'team' }));
    expect(await info(alice)).toMatchObject({ status: 'active', plan: 'team' });
    await sendAll(held.deleted(at(-2)), held.paymentFailed(at(-2)));
    expect(await statusOf(alice)).toBe('active');
    await sendAll(third.deleted(at(-1)));
    expect(await statusOf(alice)).toBe('cancelled');
  });

  it('undo a grant only when they are newer', async () => {
    const { alice, subscription } = await buyer('granted');
    await sendAll(subscription.created(at(-9)), subscription.updated(at(-5), { status: 'past_due' }));
    await service.app.get(Subscriptions).grant(alice.id, 'active', at(1000));
    await sendAll(subscription.paymentFailed(at(-6)), subscription.deleted(at(-7)));
    expect(await info(alice)).toMatchObject({ status: 'active', currentPeriodEnd: at(1000).toISOString() });
    await sendAll(subscription.deleted(at(-4)));
    expect(await statusOf(alice)).toBe('cancelled');
  });

  itDeep('are not rate limited', async () => {
    const busy = await startService({ beside: service, env: { ...env, RATE_LIMIT_PER_MINUTE: '3' } });
    const event = eventOf('ping', NOW, {});
    const answers = await Promise.all(Array.from({ length: 20 }, () => deliver(busy.url, event, NOW)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    await busy.close();
  });
});

describe('a read-only service', () => {
  it('accepts events', async () => {
    const { alice, subscription } = await buyer('read-only');
    const killSwitch = service.app.get(KillSwitch, { strict: false });
    await killSwitch.set('read-only');
    await killSwitch.look();
    try {
      await alice.post('/api/v1/subscription/trial').expect(503);
      await sendAll(subscription.created(NOW));
    } finally {
      await killSwitch.set('off');
      await killSwitch.look();
    }
    expect(await statusOf(alice)).toBe('active');
  });
});

describe('a fault of the database', () => {
  it('makes the delivery 503 without event or effect, and the next one is applied', async () => {
    const { alice, subscription } = await buyer('fault');
    const event = subscription.created(NOW);
    await service.database.query(`
      CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = '53100'; END $$;
      CREATE TRIGGER no_space BEFORE INSERT OR UPDATE ON subscriptions FOR EACH ROW
      WHEN (NEW.user_id = '${alice.id}') EXECUTE FUNCTION no_space()`);
    const answer = await send(event).expect(503);
    expect(answer.headers['retry-after']).toMatch(/^\d+$/);
    expect(
      await service.database.query('SELECT FROM payment_events WHERE event_id = $1', [event.id]),
    ).toEqual([]);
    await service.database.query('DROP TRIGGER no_space ON subscriptions');
    await sendAll(event);
    expect(await statusOf(alice)).toBe('active');
  });
});

describeDeep('a change of status', () => {
  it('takes effect on every instance with the next request', async () => {
    const beside = await startService({ beside: service, env });
    const { alice, subscription } = await buyer('gate');
    const there = alice.at(beside.url);
    expect([await isActive(alice), await isActive(there)]).toEqual([false, false]);
    await deliver(service.url, subscription.created(at(-9)), NOW).expect(200);
    expect([await isActive(alice), await isActive(there)]).toEqual([true, true]);
    await deliver(beside.url, subscription.deleted(at(-8), { periodEnd: at(-8) }), NOW).expect(200);
    expect([await isActive(alice), await isActive(there)]).toEqual([false, false]);
    await beside.close();
  });
});

describe('Subscriptions.expire', () => {
  it('marks expired states once, and returns their number', async () => {
    const subscriptions = service.app.get(Subscriptions);
    const alice = await service.user('expires');
    const later = await service.user('expires-later');
    await service.database.query(
      `UPDATE subscriptions SET trial_end = trial_end + interval '1 day' WHERE user_id = $1`,
      [later.id],
    );
    await subscriptions.expire(new Date(NOW.getTime() + 30 * DAY_MS - 1));
    const status = async (user: TestUser): Promise<unknown> =>
      (await service.database.query('SELECT status FROM subscriptions WHERE user_id = $1', [user.id]))[0]
        ?.status;
    expect(await status(alice)).toBe('trial');
    const end = new Date(NOW.getTime() + 30 * DAY_MS);
    expect(await subscriptions.expire(end)).toBeGreaterThanOrEqual(1);
    expect([await status(alice), await status(later)]).toEqual(['expired', 'trial']);
    expect(await subscriptions.expire(end)).toBe(0);
  });
});
