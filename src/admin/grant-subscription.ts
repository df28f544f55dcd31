import { Users } from '../auth/index.js';
import { Subscriptions, type SubscriptionStatus } from '../billing/index.js';
import { NotFound } from '../platform/http/index.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

/** Sets a user's subscription by hand. @throws NotFound */
export function grantSubscription(
  email: string,
  status: SubscriptionStatus,
  until: Date | null,
): Promise<Report> {
  return withService(async (service) => {
    const user = await service.get(Users).findByEmail(email);
    if (!user) throw new NotFound(`there is no account ${email}`);
    const subscription = await service.get(Subscriptions).grant(user.id, status, until);
    const end = until ? ` until ${until.toISOString()}` : '';
    return { email: user.email, ...subscription, text: `${user.email} is ${subscription.status}${end}` };
  });
}
