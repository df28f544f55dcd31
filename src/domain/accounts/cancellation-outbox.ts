import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { MoreThan, Repository } from 'typeorm';
import { PaymentProvider, ProviderRefusal } from '../billing/index.js';
import { CoalescingRunner } from '../../platform/async/index.js';
import { Log, requestScope } from '../../platform/log/index.js';
import { OwedCancellation } from './owed-cancellation.entity.js';

const BATCH = 100;

/** After this many consecutive outages of the provider, the remaining requests would fail too. */
const GIVE_UP_AFTER = 5;

/**
 * Subscriptions of deleted accounts that must still be cancelled at the payment provider. Deleting an account does not wait for
 * it: failures are retried every night until the provider has confirmed.
 */
@Injectable()
export class CancellationOutbox {
  private readonly passes = new CoalescingRunner(async () => {
    await requestScope.exit(() => this.log.bestEffort('cancel at the payment provider', () => this.settle()));
  });
  private lastPass: Promise<void> | undefined;

  constructor(
    @InjectRepository(OwedCancellation) private readonly owed: Repository<OwedCancellation>,
    private readonly provider: PaymentProvider,
    private readonly log: Log,
  ) {}

  /**
   * Starts a pass without waiting for it. Runs one pass at a time, so that many accounts deleted at once do not cause duplicate
   * requests.
   */
  settleSoon(): void {
    this.lastPass = this.passes.run();
  }

  /** Resolves when the pass that `settleSoon` started has ended. */
  async settled(): Promise<void> {
    await this.lastPass;
  }

  /** Processes all owed cancellations; without a provider they stay. Concurrent calls are harmless. */
  async settle(signal?: AbortSignal): Promise<{ cancelled: number; failed: number }> {
    const counts = { cancelled: 0, failed: 0 };
    if (!this.provider.isConfigured) return counts;
    let outages = 0;
    for await (const owed of this.all()) {
      if (signal?.aborted || outages === GIVE_UP_AFTER) break;
      const refusal = await this.settleOne(owed);
      if (refusal) counts.failed++;
      else counts.cancelled++;
      outages = refusal?.isOutage ? outages + 1 : 0;
    }
    return counts;
  }

  private async settleOne(owed: OwedCancellation): Promise<ProviderRefusal | undefined> {
    try {
      await this.provider.cancelAndDeleteCustomer(owed);
    } catch (err) {
      if (!(err instanceof ProviderRefusal)) throw err;
      this.log.warn({ err }, 'could not cancel at the payment provider; it is retried every night');
      return err;
    }
    await this.owed.delete({ id: owed.id });
    return undefined;
  }

  private async *all(): AsyncGenerator<OwedCancellation, void> {
    for (let above: number | undefined = 0; above !== undefined;) {
      const page: OwedCancellation[] = await this.owed.find({
        where: { id: MoreThan(above) },
        order: { id: 'ASC' },
        take: BATCH,
      });
      yield* page;
      above = page.at(-1)?.id;
    }
  }
}
