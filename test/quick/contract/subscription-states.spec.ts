import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PaymentEvent, replayEvents } from '../../../src/domain/billing/replay-events.js';
import {
  type Cause,
  CAUSES,
  FREE,
  PROVIDER_STATUSES,
  statesInMarkdown,
  STATUSES,
  type SubscriptionState,
  type SubscriptionStatus,
  transition,
} from '../../../src/domain/billing/subscription-state.js';

/** The contract, written by hand: one letter per status, in the order of STATUSES; a dot is no change. */
const CONTRACT: Readonly<Record<Cause, string>> = {
  trial_started: 't.....',
  trial_ended: '.e....',
  grant_ended: '..e...',
  trialing: 'tttttt',
  active: 'aaaaaa',
  past_due: 'pppppp',
  unpaid: 'pppppp',
  canceled: 'cccccc',
  incomplete: '......',
  incomplete_expired: 'eeeeee',
  paused: 'eeeeee',
  deleted: 'cccccc',
  payment_failed: '.ppp..',
};
const LETTERS: Readonly<Record<string, SubscriptionStatus | undefined>> = {
  f: 'free',
  t: 'trial',
  a: 'active',
  p: 'past_due',
  c: 'cancelled',
  e: 'expired',
  '.': undefined,
};

const PAIRS = STATUSES.flatMap((from, column) =>
  CAUSES.map((cause) => [from, cause, LETTERS[CONTRACT[cause][column]!]] as const),
);

const THEN = new Date('2026-03-01T12:00:00Z');
const LATER = new Date('2026-03-02T12:00:00Z');

/** A user in some status by the provider's subscription `sub_held`. */
function held(status: SubscriptionStatus): SubscriptionState {
  return {
    ...FREE,
    plan: 'pro',
    status,
    trialEnd: status === 'trial' ? new Date('2026-04-01T00:00:00Z') : null,
    pastDueSince: status === 'past_due' ? THEN : null,
    subscriptionId: 'sub_held',
  };
}

function event(cause: PaymentEvent['cause'], subscriptionId: string, at = LATER): PaymentEvent {
  const terms = { plan: 'pro', periodEnd: 1_780_000_000, cancelAtPeriodEnd: false, trialStart: null };
  return {
    id: `evt_${cause}_${at.getTime()}`,
    kind: cause === 'deleted' || cause === 'payment_failed' ? cause : 'updated',
    cause,
    occurredAt: at,
    subscriptionId,
    terms:
      cause === 'payment_failed' ? null : { ...terms, trialEnd: cause === 'trialing' ? 1_780_000_000 : null },
  };
}

/** The diagram and the table of the page; the text around them is written by hand. */
const sectionOf = (page: string): string =>
  page.slice(page.indexOf('```mermaid'), page.indexOf('\nEvents are applied in the order'));

describe('the state table', () => {
  it('has every cause', () => {
    expect([...CAUSES].sort()).toEqual(Object.keys(CONTRACT).sort());
    expect(CAUSES).toEqual(expect.arrayContaining([...PROVIDER_STATUSES]));
  });

  it.each(PAIRS)('%s, %s → %s', (from, cause, to) => {
    expect(transition(from, cause)).toBe(to);
  });

  it('equals docs/reference/subscription-states.md, as print-states.js writes it', () => {
    const file = readFileSync(
      join(import.meta.dirname, '..', '..', '..', 'docs', 'reference', 'subscription-states.md'),
      'utf8',
    );
    expect(sectionOf(file)).toBe(statesInMarkdown());
  });
});

const BY_EVENT = PAIRS.filter(
  ([, cause]) => !['trial_started', 'trial_ended', 'grant_ended'].includes(cause),
) as [SubscriptionStatus, PaymentEvent['cause'], SubscriptionStatus | undefined][];

describe('an event about the current subscription', () => {
  it.each(BY_EVENT)('%s, %s → %s', (from, cause, to) => {
    const { state, applied } = replayEvents(held(from), [event(cause, 'sub_held')]);
    expect(state.status).toBe(to ?? from);
    expect(applied).toHaveLength(to ? 1 : 0);
    if (!to) expect(state).toEqual(held(from));
  });
});

describe('an event about another subscription than the current one', () => {
  const takesOver = new Set(['trialing', 'active', 'past_due', 'unpaid']);

  it.each(BY_EVENT)(
    '%s, %s: takes over only when it is trialing, active or past due (alone: %s)',
    (from, cause, to) => {
      const { state } = replayEvents(held(from), [event(cause, 'sub_other')]);
      if (takesOver.has(cause)) expect(state).toMatchObject({ status: to, subscriptionId: 'sub_other' });
      else expect(state).toEqual(held(from));
    },
  );
});

describe('a grant with an end', () => {
  const granted = { ...held('active'), subscriptionId: null, currentPeriodEnd: LATER };
  const failed = (at: Date): PaymentEvent => event('payment_failed', 'sub_other', at);

  it('applies to a failed payment before its end, and not from then on', () => {
    expect(replayEvents(granted, [failed(new Date(LATER.getTime() - 1))]).state.status).toBe('past_due');
    expect(replayEvents(granted, [failed(LATER)]).state).toEqual(granted);
  });

  it('ends only without a subscription of the provider', () => {
    const bought = { ...granted, subscriptionId: 'sub_held' };
    expect(replayEvents(bought, [event('payment_failed', 'sub_held')]).state.status).toBe('past_due');
  });
});

describe('the time since when a subscription is past due', () => {
  const at = (minute: number): Date => new Date(THEN.getTime() + minute * 60_000);
  const since = (...events: PaymentEvent[]): Date | null =>
    replayEvents(held('active'), events).state.pastDueSince;

  it('is that of the first failure, however often it fails again', () => {
    expect(since(event('payment_failed', 'sub_held', at(1)), event('past_due', 'sub_held', at(2)))).toEqual(
      at(1),
    );
    expect(since(event('past_due', 'sub_held', at(1)), event('unpaid', 'sub_held', at(2)))).toEqual(at(1));
  });

  it('starts anew after a payment', () => {
    const events = ['payment_failed', 'active', 'payment_failed'] as const;
    expect(since(...events.map((cause, minute) => event(cause, 'sub_held', at(minute))))).toEqual(at(2));
    expect(since(event('past_due', 'sub_held', at(1)), event('active', 'sub_held', at(2)))).toBeNull();
  });
});

describe('events of one second', () => {
  const kinds = (...list: PaymentEvent[]): SubscriptionStatus => replayEvents(FREE, list).state.status;
  const created = { ...event('active', 'sub_held'), kind: 'created' as const };

  it('are applied in the order of their arrival', () => {
    expect(kinds(event('past_due', 'sub_held'), event('active', 'sub_held'))).toBe('active');
    expect(kinds(event('active', 'sub_held'), event('past_due', 'sub_held'))).toBe('past_due');
  });

  it('are applied even when a change arrives before the creation', () => {
    expect(kinds(event('past_due', 'sub_held'), created)).toBe('active');
  });

  it('lead to cancelled when one is a deletion, in any order', () => {
    for (const other of [created, event('active', 'sub_held'), event('payment_failed', 'sub_held')]) {
      expect(kinds(event('deleted', 'sub_held'), other)).toBe('cancelled');
      expect(kinds(other, event('deleted', 'sub_held'))).toBe('cancelled');
    }
    expect(kinds(event('deleted', 'sub_held'), event('active', 'sub_other'))).toBe('active');
  });
});

describe("the service's own trial", () => {
  const trial: SubscriptionState = {
    ...FREE,
    plan: 'pro',
    status: 'trial',
    trialStart: THEN,
    trialEnd: new Date('2026-03-31T12:00:00Z'),
  };

  it.each(['incomplete_expired', 'canceled', 'deleted', 'payment_failed'] as const)(
    'goes on when a purchase is abandoned before it is paid: incomplete, then %s',
    (cause) => {
      const events = [event('incomplete', 'sub_new', THEN), event(cause, 'sub_new')];
      expect(replayEvents(trial, events)).toEqual({ state: trial, applied: [] });
      expect(replayEvents(trial, events.toReversed())).toEqual({ state: trial, applied: [] });
    },
  );

  it('ends when the purchase succeeds', () => {
    const { state } = replayEvents(trial, [event('incomplete', 'sub_new', THEN), event('active', 'sub_new')]);
    expect(state).toMatchObject({ status: 'active', subscriptionId: 'sub_new', trialStart: THEN });
  });

  it('is over for an event from its end on, and not for one before', () => {
    const after = event('payment_failed', 'sub_new', new Date('2026-03-31T12:00:00Z'));
    expect(replayEvents(trial, [after]).state).toEqual(trial);
    const before = event('payment_failed', 'sub_new', new Date('2026-03-31T11:59:59Z'));
    expect(replayEvents(trial, [before]).state.status).toBe('past_due');
  });
});
