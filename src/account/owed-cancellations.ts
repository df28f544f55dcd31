import { Injectable } from '@nestjs/common';
import { Database } from '../platform/database/index.js';
import { Log } from '../platform/log/index.js';
import { accountStatements } from './account.queries.js';
import { ProviderFarewell, type ProviderNames } from './provider-farewell.js';

const BATCH = 100;

/** So many in a row that fail mean that the provider is away: the others would fare no better. */
const GIVE_UP_AFTER = 5;

interface Owed extends ProviderNames {
  readonly id: number;
}

/**
 * Subscriptions of deleted accounts that the payment provider still has to be told of. The account does not wait for
 * it: what fails is tried again every night, until the provider has confirmed it.
 */
@Injectable()
export class OwedCancellations {
  constructor(
    private readonly database: Database,
    private readonly farewell: ProviderFarewell,
    private readonly log: Log,
  ) {}

  /** Not waited for. */
  settleSoon(): void {
    void this.log.bestEffort('cancel at the payment provider', () => this.settle());
  }

  /** Goes through all of them; without a provider they stay. Twice at once is harmless. */
  async settle(signal?: AbortSignal): Promise<{ cancelled: number; failed: number }> {
    const counts = { cancelled: 0, failed: 0 };
    if (!this.farewell.isConfigured) return counts;
    let failedInARow = 0;
    for await (const owed of this.all()) {
      if (signal?.aborted || failedInARow === GIVE_UP_AFTER) break;
      if (await this.settleOne(owed)) {
        counts.cancelled++;
        failedInARow = 0;
      } else {
        counts.failed++;
        failedInARow++;
      }
    }
    return counts;
  }

  private async settleOne(owed: Owed): Promise<boolean> {
    try {
      await this.farewell.take(owed);
    } catch (err) {
      this.log.warn({ err }, 'could not cancel at the payment provider; it is tried again every night');
      return false;
    }
    await this.database.run(accountStatements.settle, [owed.id]);
    return true;
  }

  private async *all(): AsyncGenerator<Owed, void> {
    for (let above: number | undefined = 0; above !== undefined;) {
      const page: Owed[] = await this.database.run<Owed>(accountStatements.owed, [above, BATCH]);
      yield* page;
      above = page.at(-1)?.id;
    }
  }
}
