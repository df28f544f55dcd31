import { Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock.js';
import {
  BEFORE_ALL_IDS,
  Database,
  pagesById,
  removeInBatches,
  type Tx,
} from '../../platform/database/index.js';
import { Log } from '../../platform/log.js';
import { type Counter, Metrics } from '../../platform/metrics.js';
import { eventLogStatements } from './billing.queries.js';
import { closeOld, currentState, lockBilling, record, replayUserEvents } from './event-log.js';
import { PaymentCustomer } from './billing.entities.js';
import { type SubscriptionNotice, readDelivery } from './provider-event.js';

const DAY_MS = 24 * 60 * 60_000;
const KEPT_DAYS = 90;
const BATCH = 500;

type Outcome = 'applied' | 'no_effect' | 'duplicate' | 'unknown_customer' | 'ignored';

/** Events of the payment provider. Each event counts once, whenever and however often it is delivered. */
@Injectable()
export class PaymentEvents {
  private readonly results: Counter;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly log: Log,
    metrics: Metrics,
  ) {
    this.results = metrics.counter('cloud_sync_payment_events_total', 'Verified payment events, by outcome', [
      'outcome',
    ]);
  }

  /**
   * Processes a verified event. When this resolves, the event and its effect are committed, unless it has no effect.
   * @throws BadRequest when a field that every event has is missing
   */
  async receive(body: Record<string, unknown>): Promise<void> {
    const { id, type, notice } = readDelivery(body, this.clock.now());
    const outcome = notice ? await this.take(notice) : 'ignored';
    this.results.add({ outcome });
    this.log.info({ eventId: id, type, outcome }, 'payment event');
  }

  /**
   * Deletes events that were processed more than 90 days ago; the provider repeats a delivery for three days. Subscriptions do
   * not change, and the last events of each are kept. Returns how many events were deleted.
   * @param signal once aborted, it ends after the current batch
   */
  async forgetOldEvents(now: Date, signal?: AbortSignal): Promise<number> {
    const cutoff = new Date(now.getTime() - KEPT_DAYS * DAY_MS);
    await this.closeBefore(cutoff, signal);
    const forget = (): Promise<unknown[]> => this.database.run(eventLogStatements.forget, [cutoff, BATCH]);
    return removeInBatches(BATCH, forget, signal);
  }

  private take({ event, customerId, userId }: SubscriptionNotice): Promise<Outcome> {
    const now = this.clock.now();
    return this.database.transaction(async (tx) => {
      const user = await lockBilling(tx, { customerId, userId });
      if (!user) return 'unknown_customer';
      const subscriptionId = event.subscriptionId ?? (await currentState(tx, user)).subscriptionId;
      if (subscriptionId === null) return 'ignored';
      if (!(await record(tx, user, { ...event, subscriptionId }, now))) return 'duplicate';
      if (!(await replayUserEvents(tx, user, event.id, now))) return 'no_effect';
      if (customerId) await adoptCustomer(tx, { userId: user, customerId, createdAt: now });
      return 'applied';
    });
  }

  /** Processes one user at a time, each in its own transaction. */
  private async closeBefore(cutoff: Date, signal?: AbortSignal): Promise<void> {
    const pages = pagesById(BEFORE_ALL_IDS, BATCH, (above) =>
      this.database.run<{ id: string }>(eventLogStatements.usersWithOld, [cutoff, above, BATCH]),
    );
    for await (const users of pages)
      for (const { id } of users) {
        if (signal?.aborted) return;
        await this.database.transaction(async (tx) => {
          if (await lockBilling(tx, { customerId: null, userId: id })) await closeOld(tx, id, cutoff);
        });
      }
  }
}

/** Does nothing if the customer has another user, or the user another customer: the relation is one to one. */
async function adoptCustomer(tx: Tx, customer: PaymentCustomer): Promise<void> {
  const customers = tx.manager.getRepository(PaymentCustomer);
  await customers.createQueryBuilder().insert().values(customer).orIgnore().execute();
}
