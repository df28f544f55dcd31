import { Accounts } from '../account/index.js';
import { StorageQuota } from '../assets/index.js';
import { Subscriptions } from '../billing/index.js';
import { DocumentQuota } from '../files/index.js';
import { accountOf } from './account-of.js';
import { withState } from './list-users.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

/** An account: its state, its subscription, what it holds, and what can act for it. @throws NotFound */
export function showUser(email: string): Promise<Report> {
  return withService(async (service) => {
    const { id } = await accountOf(service, email);
    const account = withState(await service.get(Accounts).get(id));
    const subscription = await service.get(Subscriptions).describe(id);
    const { usedBytes, quotaBytes } = await service.get(DocumentQuota).usage(id);
    const assets = await service.get(StorageQuota).usage(id);
    const text = Object.entries({
      ...account,
      subscription: `${subscription.status}, plan ${subscription.plan}, ${subscription.isActive ? 'active' : 'not active'}`,
      documents: quotaBytes === 0 ? `${usedBytes} bytes, unlimited` : `${usedBytes} of ${quotaBytes} bytes`,
      assets: `${assets.usedBytes} of ${assets.quotaBytes} bytes${assets.locked ? ', locked' : ''}`,
    }).map(line);
    return { ...account, subscription, documents: { usedBytes, quotaBytes }, assets, text: text.join('\n') };
  });
}

function line([name, value]: [string, string | number | Date | null]): string {
  return `${name}: ${value instanceof Date ? value.toISOString() : String(value ?? '–')}`;
}
