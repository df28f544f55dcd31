import { randomUUID } from 'node:crypto';
import { PaymentEvents, Subscriptions } from '../../../src/domain/billing/index.js';
import { checksums } from '../../kit/checksums.js';
import { startService, type TestService } from '../../kit/index.js';
import {
  deliver,
  type ProviderEvent,
  ProviderSubscription,
  WEBHOOK_SECRET,
} from '../../kit/payment-provider.js';
import { Random } from '../../kit/random.js';
import { itDeep } from '../../kit/rounds.js';

const NOW = new Date('2026-03-01T12:00:00.000Z');
const DAY_MS = 24 * 60 * 60_000;
const SEED = 20260301;

let one: TestService;
let two: TestService;
beforeAll(async () => {
  const env = { PAYMENT_WEBHOOK_SECRET: WEBHOOK_SECRET };
  one = await startService({ env });
  two = await startService({ env, beside: one });
  one.clock.stopAt(NOW);
});
afterAll(async () => {
  await two.close();
  await one.close();
});

const at = (second: number): Date => new Date(NOW.getTime() + second * 1000);

/** A user with a subscription at the provider, inserted directly because tests need hundreds. */
async function buyer(customerId?: string): Promise<ProviderSubscription> {
  const id = randomUUID();
  await one.database.query(
    `INSERT INTO users (id, email, name, email_verified, created_at, updated_at) VALUES ($1, $2, 'x', false, $3, $3)`,
    [id, `${id}@example.org`, NOW],
  );
  return new ProviderSubscription(id, customerId);
}

/** The row of a user's subscription, without the user and the times of its writing. */
async function outcome({ userId }: ProviderSubscription): Promise<object | undefined> {
  const [row] = await one.database.query(
    `SELECT plan, status, trial_start, trial_end, current_period_end, cancel_at_period_end, past_due_since,
            provider_subscription_id FROM subscriptions WHERE user_id = $1`,
    [userId],
  );
  return row;
}

type Life = (subscription: ProviderSubscription, seconds: number[]) => ProviderEvent[];

/** Created, updated twice, deleted, and a payment that failed; each at a second of its own. */
const life: Life = (subscription, [created = 0, updated = 0, again = 0, failed = 0, deleted = 0]) => [
  subscription.created(at(created), {
    status: 'trialing',
    periodEnd: at(700),
    fields: { trial_start: at(created).getTime() / 1000, trial_end: at(500).getTime() / 1000 },
  }),
  subscription.updated(at(updated), { lookupKey: 'team', periodEnd: at(800) }),
  subscription.updated(at(again), { periodEnd: at(900), fields: { cancel_at_period_end: true } }),
  subscription.paymentFailed(at(failed)),
  subscription.deleted(at(deleted), { lookupKey: 'team', periodEnd: at(950) }),
];

/** The same without the deletion. */
const lasting: Life = (subscription, seconds) => life(subscription, seconds).slice(0, 4);

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, index) =>
    permutations(items.filter((_, other) => other !== index)).map((rest) => [item, ...rest]),
  );
}

/** Each of them one to three times; the first deliveries stay in their order. */
function repeated<T>(items: readonly T[], random: Random): T[] {
  const deliveries = [...items];
  for (const item of items) {
    for (let more = random.below(3); more > 0; more--) {
      const first = deliveries.indexOf(item);
      deliveries.splice(first + 1 + random.below(deliveries.length - first), 0, item);
    }
  }
  return deliveries;
}

/** Calls the service directly, on a random instance. */
async function receive(event: ProviderEvent, random: Random): Promise<void> {
  await random
    .pick([one, two])
    .app.get(PaymentEvents)
    .receive(structuredClone(event) as never);
}

const everyOrder = permutations([0, 1, 2, 3, 4]);

/** The row without the id of the subscription, which differs between users. */
const withoutId = (row: object | undefined): object => ({ ...row, provider_subscription_id: undefined });

async function inOrderOfTime(seconds: number[], of = life): Promise<object> {
  const subscription = await buyer();
  const events = of(subscription, seconds).sort((a, b) => a.created - b.created);
  for (const event of events) await receive(event, new Random(1));
  return withoutId(await outcome(subscription));
}

describe('created, updated twice, deleted and payment_failed, each delivered one to three times', () => {
  itDeep('end in the same state in all 120 orders', async () => {
    const random = new Random(SEED);
    const seconds = [1, 2, 3, 4, 5];
    const expected = await inOrderOfTime(seconds);
    expect(expected).toMatchObject({ status: 'cancelled', plan: 'team', current_period_end: at(950) });
    for (const order of everyOrder) {
      const subscription = await buyer();
      const events = life(subscription, seconds);
      for (const index of repeated(order, random)) await receive(events[index]!, random);
      expect({ order, row: withoutId(await outcome(subscription)) }).toEqual({ order, row: expected });
    }
  });

  itDeep('end in the same state whichever of them happened last', async () => {
    const random = new Random(SEED + 1);
    const statuses = { lasting: new Set<unknown>(), ended: new Set<unknown>() };
    for (let round = 0; round < 24; round++) {
      const seconds = random.pick(everyOrder).map((index) => index * 100 + random.below(100));
      const [of, seen] = round % 2 === 0 ? [lasting, statuses.lasting] : [life, statuses.ended];
      const expected = await inOrderOfTime(seconds, of);
      seen.add((expected as { status: string }).status);
      for (const order of [random.pick(everyOrder), random.pick(everyOrder)]) {
        const subscription = await buyer();
        const events = of(subscription, seconds);
        for (const index of repeated(order, random)) if (events[index]) await receive(events[index], random);
        const row = withoutId(await outcome(subscription));
        expect({ seconds, order, row }).toEqual({ seconds, order, row: expected });
      }
    }
    expect(statuses).toEqual({
      lasting: new Set(['trial', 'active', 'past_due']),
      ended: new Set(['cancelled']),
    });
  });

  it('end in the same state over HTTP, all at once on two instances', async () => {
    const random = new Random(SEED + 2);
    for (const seconds of [
      [1, 2, 3, 4, 5],
      [1, 3, 4, 5, 2],
    ]) {
      const expected = await inOrderOfTime(seconds);
      for (let round = 0; round < 12; round++) {
        const subscription = await buyer();
        const events = life(subscription, seconds);
        const deliveries = repeated(random.pick(everyOrder), random).map((index) =>
          deliver(random.pick([one, two]).url, events[index]!, NOW),
        );
        const answers = await Promise.all(deliveries);
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
        expect(withoutId(await outcome(subscription))).toEqual(expected);
      }
    }
  });

  itDeep('end in the state of the second of two successive subscriptions', async () => {
    const random = new Random(SEED + 3);
    for (let round = 0; round < 20; round++) {
      const first = await buyer();
      const second = new ProviderSubscription(first.userId, first.customerId);
      const events = [
        ...life(first, [1, 2, 3, 4, 8]),
        second.created(at(5), { status: 'incomplete' }),
        second.updated(at(6), { lookupKey: 'family', periodEnd: at(990) }),
        second.paymentFailed(at(9)),
      ];
      const shuffled = [...events];
      for (let left = shuffled.length - 1; left > 0; left--) {
        const other = random.below(left + 1);
        [shuffled[left], shuffled[other]] = [shuffled[other]!, shuffled[left]!];
      }
      for (const event of repeated(shuffled, random)) await receive(event, random);
      expect(await outcome(first)).toEqual({
        ...{ plan: 'family', status: 'past_due', trial_start: at(1), trial_end: at(500) },
        ...{ current_period_end: at(990), cancel_at_period_end: false, past_due_since: at(9) },
        provider_subscription_id: second.id,
      });
    }
  });
});

describe('a deleted subscription', () => {
  const deletion = { plan: 'team', status: 'cancelled', current_period_end: at(950) };

  itDeep('is the same in all 120 orders of events of one second', async () => {
    const random = new Random(SEED + 10);
    const seconds = [3, 3, 3, 3, 3];
    const expected = await inOrderOfTime(seconds);
    expect(expected).toMatchObject({ ...deletion, trial_start: at(3), trial_end: at(500) });
    for (const order of everyOrder) {
      const subscription = await buyer();
      const events = life(subscription, seconds);
      for (const index of repeated(order, random)) await receive(events[index]!, random);
      expect({ order, row: withoutId(await outcome(subscription)) }).toEqual({ order, row: expected });
    }
  });

  itDeep('does not come back by events with a later time, in any order', async () => {
    const random = new Random(SEED + 11);
    const seconds = [1, 5, 6, 7, 3];
    const expected = await inOrderOfTime(seconds);
    expect(expected).toMatchObject(deletion);
    for (const order of everyOrder) {
      const subscription = await buyer();
      const events = life(subscription, seconds);
      for (const index of order) await receive(events[index]!, random);
      expect({ order, row: withoutId(await outcome(subscription)) }).toEqual({ order, row: expected });
    }
  });

  itDeep('does not come back after 91 or 200 days, even when its deletion had no effect', async () => {
    const random = new Random(SEED + 12);
    for (const age of [0, 91 * DAY_MS, 200 * DAY_MS]) {
      one.clock.stopAt(NOW);
      const [held, other] = [await buyer(), await buyer()];
      const second = new ProviderSubscription(held.userId, held.customerId);
      await receive(held.created(at(1)), random);
      await receive(second.deleted(at(2)), random); // not the subscription that counts
      for (const event of life(other, [1, 2, 3, 4, 5])) await receive(event, random);
      const before = [await outcome(held), await outcome(other)];
      one.clock.advance(age);
      await one.app.get(PaymentEvents).forgetOldEvents(one.clock.now());
      const late = at(9 + age / 1000);
      for (const event of [
        second.created(late),
        second.updated(late),
        other.updated(late),
        other.created(late),
      ])
        await receive(event, random);
      expect([await outcome(held), await outcome(other)]).toEqual(before);
    }
    one.clock.stopAt(NOW);
  });

  it('can be followed by another subscription, and by grants', async () => {
    const random = new Random(SEED + 13);
    const first = await buyer();
    for (const event of life(first, [1, 2, 3, 4, 5])) await receive(event, random);
    const next = new ProviderSubscription(first.userId, first.customerId);
    await receive(next.created(at(5), { lookupKey: 'family' }), random);
    await receive(first.updated(at(6)), random);
    expect(await outcome(first)).toMatchObject({ plan: 'family', provider_subscription_id: next.id });
    await receive(next.deleted(at(7)), random);
    await one.app.get(Subscriptions).grant(first.userId, 'active', at(1000));
    for (const event of [first.paymentFailed(at(8)), next.updated(at(9), { status: 'past_due' })])
      await receive(event, random);
    expect(await outcome(first)).toMatchObject({ status: 'active', current_period_end: at(1000) });
  });

  it('does not come back after a grant, in any order of its late events', async () => {
    const random = new Random(SEED + 14);
    const outcomes = [];
    for (const isDeletionFirst of [true, false]) {
      const subscription = await buyer();
      await receive(subscription.created(at(1)), random);
      await receive(subscription.updated(at(5)), random);
      await one.app.get(Subscriptions).grant(subscription.userId, 'expired', null);
      const late = [subscription.deleted(at(4)), subscription.updated(at(6))];
      for (const event of isDeletionFirst ? late : late.toReversed()) await receive(event, random);
      outcomes.push(withoutId(await outcome(subscription)));
    }
    expect(outcomes[0]).toMatchObject({ status: 'expired' });
    expect(outcomes[1]).toEqual(outcomes[0]);
  });
});

describe('one event, delivered forty times at once on two instances', () => {
  it('has its effect once', async () => {
    const subscription = await buyer();
    const event = subscription.created(at(1));
    const sent = Array.from({ length: 40 }, (_, n) => deliver([one, two][n % 2]!.url, event, NOW));
    expect(new Set((await Promise.all(sent)).map(({ status }) => status))).toEqual(new Set([200]));
    const outcomes = `${one.logged()}${two.logged()}`
      .split('\n')
      .filter((line) => line.includes(event.id))
      .map((line) => (JSON.parse(line) as { outcome: string }).outcome);
    expect(outcomes.sort()).toEqual(['applied', ...Array.from({ length: 39 }, () => 'duplicate')]);
  });
});

describe('events and the user at once', () => {
  it('do not deadlock, and end in the whole purchase when a trial is started meanwhile', async () => {
    const random = new Random(SEED + 4);
    for (let round = 0; round < 10; round++) {
      const subscription = await buyer();
      const start = random.pick([one, two]).app.get(Subscriptions).startTrial(subscription.userId);
      const buy = [subscription.created(at(1)), subscription.updated(at(2), { lookupKey: 'team' })];
      await Promise.allSettled([start, ...buy.map((event) => receive(event, random))]);
      expect(await outcome(subscription)).toMatchObject({ status: 'active', plan: 'team' });
    }
  });
});

describe('forgetting events after 90 days', () => {
  const forget = (now: Date): Promise<number> => one.app.get(PaymentEvents).forgetOldEvents(now);
  const eventsOf = async ({ userId }: ProviderSubscription): Promise<number> =>
    (await one.database.query('SELECT FROM payment_events WHERE user_id = $1', [userId])).length;
  afterEach(() => one.clock.stopAt(NOW));

  it('changes no subscription, and forgotten events have no effect when they come again', async () => {
    const random = new Random(SEED + 5);
    for (const seconds of [
      [1, 2, 3, 4, 5],
      [1, 2, 3, 5, 4],
      [5, 2, 3, 4, 1],
      [1, 4, 5, 3, 2],
    ]) {
      one.clock.stopAt(NOW);
      const subscription = await buyer();
      const events = life(subscription, seconds);
      for (const event of events) await receive(event, random);
      const before = await outcome(subscription);
      one.clock.advance(90 * DAY_MS + 1000);
      expect(await forget(one.clock.now())).toBeGreaterThan(0);
      expect(await outcome(subscription)).toEqual(before);
      expect(await eventsOf(subscription)).toBeLessThan(events.length);

      for (const order of [random.pick(everyOrder), random.pick(everyOrder)])
        for (const index of order) {
          await receive(events[index]!, random);
          expect({ order, row: await outcome(subscription) }).toEqual({ order, row: before });
        }
      const next = new ProviderSubscription(subscription.userId, subscription.customerId);
      await receive(next.created(at(100 * 24 * 3600), { lookupKey: 'new' }), random);
      expect(await outcome(subscription)).toMatchObject({ status: 'active', plan: 'new' });
    }
  });

  it('lets a subscription end as if nothing had been forgotten', async () => {
    const random = new Random(SEED + 6);
    const seconds = [1, 2, 3, 4, 5];
    const expected = await inOrderOfTime(seconds);
    for (const cut of [1, 2, 3, 4]) {
      one.clock.stopAt(NOW);
      const subscription = await buyer();
      const events = life(subscription, seconds);
      for (const event of events.slice(0, cut)) await receive(event, random);
      one.clock.advance(91 * DAY_MS);
      await forget(one.clock.now());
      for (const event of [...events.slice(cut), ...events].toReversed()) await receive(event, random);
      expect({ cut, row: withoutId(await outcome(subscription)) }).toEqual({ cut, row: expected });
    }
  });

  it('does not fix the state before an event that has just been received late', async () => {
    const random = new Random(SEED + 7);
    const subscription = await buyer();
    await receive(subscription.paymentFailed(at(5)), random);
    one.clock.advance(90 * DAY_MS + 1000);
    await receive(subscription.created(at(1)), random);
    await forget(one.clock.now());
    await receive(subscription.updated(at(2), { lookupKey: 'team' }), random);
    expect(await outcome(subscription)).toMatchObject({
      status: 'past_due',
      plan: 'team',
      past_due_since: at(5),
    });
  });

  it('makes old events final, and still applies late ones among the others', async () => {
    const random = new Random(SEED + 9);
    const subscription = await buyer();
    await receive(subscription.created(at(1)), random);
    one.clock.advance(90 * DAY_MS + 1000);
    await receive(subscription.paymentFailed(at(5)), random);
    await forget(one.clock.now());
    expect(await outcome(subscription)).toMatchObject({ status: 'past_due', past_due_since: at(5) });
    await receive(subscription.paymentFailed(at(3)), random);
    expect(await outcome(subscription)).toMatchObject({ status: 'past_due', past_due_since: at(3) });
  });

  it('keeps newer events, and the last one of each subscription', async () => {
    const random = new Random(SEED + 8);
    const [old, ended] = [await buyer(), await buyer()];
    await receive(old.created(at(1)), random);
    await receive(old.updated(at(2)), random);
    for (const event of life(ended, [1, 2, 3, 4, 5])) await receive(event, random);
    one.clock.advance(90 * DAY_MS - 1);
    await forget(one.clock.now());
    expect([await eventsOf(old), await eventsOf(ended)]).toEqual([2, 5]);
    one.clock.advance(2);
    await receive(old.updated(at(3)), random);
    await forget(one.clock.now());
    expect([await eventsOf(old), await eventsOf(ended)]).toEqual([2, 1]);
    const before = await checksums(one.database);
    expect(await forget(one.clock.now())).toBe(0);
    expect(await checksums(one.database)).toEqual(before);
  });
});
