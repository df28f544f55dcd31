import { type Subscription, Subscriptions, type SubscriptionStatus } from '../billing/index.js';
import { accountOf } from './account-of.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

type Grant = (email: string, status: SubscriptionStatus, until: Date | null) => Promise<Report>;

/** Sets a user's subscription by hand. @throws NotFound, BadRequest */
export const grantSubscription: Grant = (email, status, until) =>
  withService(async (service) => {
    const user = await accountOf(service, email);
    const subscription = await service.get(Subscriptions).grant(user.id, status, until);
    const text = `${user.email} is ${inWords(subscription, until)}`;
    return { email: user.email, ...subscription, text };
  });

/** What that would make of it. @throws NotFound, BadRequest */
export const previewGrant: Grant = (email, status, until) =>
  withService(async (service) => {
    const user = await accountOf(service, email);
    const subscription = await service.get(Subscriptions).previewGrant(user.id, status, until);
    const text = `${user.email} would be ${inWords(subscription, until)}`;
    return { dryRun: true, email: user.email, ...subscription, text };
  });

function inWords({ status }: Subscription, until: Date | null): string {
  return until ? `${status} until ${until.toISOString()}` : status;
}
