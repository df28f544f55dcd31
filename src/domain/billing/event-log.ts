import { Any } from 'typeorm';
import type { Tx } from '../../platform/database/index.js';
import { eventLogStatements } from './billing.queries.js';
import { PaymentEventEntity, SubscriptionEntity } from './billing.entities.js';
import { type PaymentEvent, type ReplayedState, replayEvents } from './replay-events.js';
import type { SubscriptionNotice } from './provider-event.js';
import { FREE, isSameState, type SubscriptionState } from './subscription-state.js';

/** An event as stored in the log. */
interface LoggedEvent extends PaymentEvent {
  readonly receivedAt: Date;
  /** Whether it is a closed deletion: it has had its effect, and still blocks other events of its subscription. */
  readonly isPastDeletion: boolean;
}

interface ReadState {
  /** As stored in the row. */
  readonly now: SubscriptionState;
  /** Before the open events. */
  readonly base: SubscriptionState;
}

/**
 * Locks a user's billing until the transaction ends. Every decision about a subscription takes this lock, on every instance;
 * `expire` does not, because it only stores a status that is already reported. Finds the user by the stored customer, else by
 * id; undefined when there is no such user.
 */
export async function lockBilling(
  tx: Tx,
  { customerId, userId }: Pick<SubscriptionNotice, 'customerId' | 'userId'>,
): Promise<string | undefined> {
  const [user] = await tx.run<{ id: string }>(eventLogStatements.lockBilling, [customerId, userId]);
  return user?.id;
}

/** Adds an event to the log of a locked user; false when it is already there. */
export async function record(tx: Tx, userId: string, event: PaymentEvent, now: Date): Promise<boolean> {
  const { id, subscriptionId, kind, cause, terms, occurredAt } = event;
  const values = [id, userId, subscriptionId, kind, cause, terms && JSON.stringify(terms), occurredAt, now];
  return (await tx.run(eventLogStatements.record, values)).length > 0;
}

/**
 * Recomputes a locked user's subscription from its base and all open events, after one was recorded. Returns false, and leaves
 * the row untouched, when that event makes no difference.
 */
export async function replayUserEvents(tx: Tx, userId: string, added: string, now: Date): Promise<boolean> {
  const { base } = await readState(tx, userId);
  const events = await openEvents(tx, userId);
  const after = replayed(base, events).state;
  const others = events.filter(({ id }) => id !== added);
  const before = replayed(base, others).state;
  if (isSameState(before, after)) return false;
  await save(tx, userId, { state: after, base, now });
  return true;
}

/** The subscription of a locked user. */
export async function currentState(tx: Tx, userId: string): Promise<SubscriptionState> {
  return (await readState(tx, userId)).now;
}

/** Sets a locked user's subscription on the service's own decision. Closes all open events, so that they cannot undo it. */
export async function overwrite(tx: Tx, userId: string, state: SubscriptionState, now: Date): Promise<void> {
  const { base } = await readState(tx, userId);
  await close(tx, userId, base, await openEvents(tx, userId));
  await save(tx, userId, { state, base: null, now });
}

/**
 * Closes a locked user's events received before `cutoff`, up to the first event in order that was received later. The
 * subscription stays unchanged.
 */
export async function closeOld(tx: Tx, userId: string, cutoff: Date): Promise<void> {
  const { base } = await readState(tx, userId);
  const events = await openEvents(tx, userId);
  const young = events.filter((event) => !event.isPastDeletion && event.receivedAt >= cutoff);
  const firstYoung = Math.min(...young.map(({ occurredAt }) => occurredAt.getTime()));
  const old = events.filter((event) => event.isPastDeletion || event.occurredAt.getTime() < firstYoung);
  const state = await close(tx, userId, base, old);
  const rest = young.length > 0 ? state : null;
  await tx.manager.getRepository(SubscriptionEntity).update({ userId }, { base: rest });
}

async function readState(tx: Tx, userId: string): Promise<ReadState> {
  const row = await tx.manager.getRepository(SubscriptionEntity).findOneBy({ userId });
  if (!row) return { now: FREE, base: FREE };
  const { base, providerSubscriptionId: subscriptionId, plan, status } = row;
  const { trialStart, trialEnd, currentPeriodEnd, cancelAtPeriodEnd, pastDueSince } = row;
  const terms = { plan, status, trialStart, trialEnd, currentPeriodEnd, cancelAtPeriodEnd };
  const now = { ...terms, pastDueSince, subscriptionId };
  return { now, base: base ?? now };
}

/**
 * The open events, and the closed ones that affect their replay: `incomplete` (nothing was paid yet; it changes nothing itself,
 * wherever it is in the order) and deletions. In the order of arrival.
 */
async function openEvents(tx: Tx, userId: string): Promise<LoggedEvent[]> {
  const rows = await tx.manager.getRepository(PaymentEventEntity).find({
    where: [
      { userId, fate: 'open' },
      { userId, cause: 'incomplete' },
      { userId, kind: 'deleted' },
    ],
    order: { arrival: 'ASC' },
  });
  return rows.map(({ eventId, kind, cause, occurredAt, receivedAt, subscriptionId, terms, fate }) => {
    const event = { id: eventId, kind, cause, occurredAt, receivedAt, subscriptionId, terms };
    return { ...event, isPastDeletion: kind === 'deleted' && fate !== 'open' };
  });
}

const undecided = (events: readonly LoggedEvent[]): LoggedEvent[] =>
  events.filter(({ isPastDeletion }) => !isPastDeletion);

function replayed(base: SubscriptionState, events: readonly LoggedEvent[]): ReplayedState {
  const deletions = events.filter(({ isPastDeletion }) => isPastDeletion);
  return replayEvents(
    base,
    undecided(events),
    deletions.map(({ subscriptionId }) => subscriptionId),
  );
}

async function close(
  tx: Tx,
  userId: string,
  base: SubscriptionState,
  events: readonly LoggedEvent[],
): Promise<SubscriptionState> {
  const { state, applied } = replayed(base, events);
  const isApplied = new Set(applied);
  const ignored = undecided(events)
    .map(({ id }) => id)
    .filter((id) => !isApplied.has(id));
  const log = tx.manager.getRepository(PaymentEventEntity);
  await log.update({ userId, eventId: Any(applied) }, { fate: 'applied' });
  await log.update({ userId, eventId: Any(ignored) }, { fate: 'ignored' });
  return state;
}

interface Saving {
  readonly state: SubscriptionState;
  readonly base: SubscriptionState | null;
  readonly now: Date;
}

async function save(tx: Tx, userId: string, { state, base, now }: Saving): Promise<void> {
  const { subscriptionId: providerSubscriptionId, ...terms } = state;
  const row = { userId, ...terms, providerSubscriptionId, base, updatedAt: now };
  await tx.manager.getRepository(SubscriptionEntity).upsert(row, ['userId']);
}
