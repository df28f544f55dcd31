import { Accounts, type ListedAccount, type ListOptions } from '../../domain/accounts/index.js';
import { StorageQuota } from '../../domain/assets/index.js';
import { Subscriptions } from '../../domain/billing/index.js';
import { DocumentQuota } from '../../domain/files/index.js';
import type { Report } from './report.js';
import { accountOf, withService } from './with-service.js';

/** A page of the accounts, in the order of their addresses. `next` is the `--after` value for the next page, or null. */
export function listUsers(options: ListOptions): Promise<Report> {
  return withService(async (service) => {
    const found = await service.get(Accounts).list({ ...options, limit: options.limit + 1 });
    const accounts = found.slice(0, options.limit);
    const next = found.length > accounts.length ? (accounts.at(-1)?.email ?? null) : null;
    const lines =
      accounts.length > 0 ? [HEADING, ...accounts.map(accountLine)] : ['There is no such account.'];
    if (next !== null) lines.push(`There are more: --after ${next}`);
    return { accounts: accounts.map(withState), next, text: lines.join('\n') };
  });
}

/** Adds the account's state as one word. */
function withState<T extends ListedAccount>(account: T): T & { state: 'active' | 'suspended' } {
  return { ...account, state: account.suspendedAt ? 'suspended' : 'active' };
}

const HEADING = row(
  'state',
  'created',
  'last seen',
  ['workspaces', 'document bytes', 'asset bytes'],
  'email',
);

function accountLine(account: ListedAccount): string {
  const { createdAt, lastSeenAt, workspaces, documentBytes, assetBytes, email } = account;
  const held = [workspaces, documentBytes, assetBytes].map(String);
  const named = account.promotedAt ? `${email} (administrator)` : email;
  return row(withState(account).state, day(createdAt), lastSeenAt ? day(lastSeenAt) : '–', held, named);
}

function row(state: string, created: string, seen: string, held: readonly string[], email: string): string {
  const left = [state.padEnd(9), created.padEnd(10), seen.padEnd(10)];
  return [...left, ...held.map((text) => text.padStart(14)), email].join('  ');
}

const day = (time: Date): string => time.toISOString().slice(0, 10);

/** An account: its state, subscription, storage use, and the number of its sessions, tokens and devices. @throws NotFound */
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

function line([name, value]: [string, string | number | boolean | Date | null]): string {
  return `${name}: ${value instanceof Date ? value.toISOString() : String(value ?? '–')}`;
}
