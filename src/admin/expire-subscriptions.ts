import { Subscriptions } from '../billing/index.js';
import { TrustedTime } from '../platform/jobs/index.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

/** Writes down which trials and grants have ended by `now`. */
export function expireSubscriptions(now: Date | undefined): Promise<Report> {
  return withService(async (service) => {
    const expired = await service.get(Subscriptions).expire(now ?? (await service.get(TrustedTime).now()));
    return {
      expired,
      text: `${expired} ${expired === 1 ? 'subscription has' : 'subscriptions have'} run out`,
    };
  });
}

/** How many that would be. */
export function previewExpiry(now: Date | undefined): Promise<Report> {
  return withService(async (service) => {
    const expired = await service
      .get(Subscriptions)
      .countExpirable(now ?? (await service.get(TrustedTime).now()));
    const text = `${expired} ${expired === 1 ? 'subscription' : 'subscriptions'} would be written down as expired`;
    return { dryRun: true, expired, text };
  });
}
