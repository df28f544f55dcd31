import { Customers, Subscriptions } from '../billing/index.js';
import { accountOf } from './account-of.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

/** What a user's subscription is, and under which names the payment provider knows it. @throws NotFound */
export function showSubscription(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const subscription = await service.get(Subscriptions).describe(user.id);
    const customerId = (await service.get(Customers).find(user.id)) ?? null;
    const fields = { email: user.email, userId: user.id, ...subscription, customerId };
    return { ...fields, text: Object.entries(fields).map(line).join('\n') };
  });
}

function line([name, value]: [string, string | boolean | Date | null]): string {
  return `${name}: ${value instanceof Date ? value.toISOString() : String(value ?? '–')}`;
}
