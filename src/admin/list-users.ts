import { Accounts, type ListedAccount, type ListOptions } from '../account/index.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

/** A page of the accounts, in the order of their addresses. `next`: what to give as `--after` for the page behind it, or null. */
export function listUsers(options: ListOptions): Promise<Report> {
  return withService(async (service) => {
    const found = await service.get(Accounts).list({ ...options, limit: options.limit + 1 });
    const accounts = found.slice(0, options.limit);
    const next = found.length > accounts.length ? (accounts.at(-1)?.email ?? null) : null;
    const lines = accounts.length > 0 ? [HEADING, ...accounts.map(line)] : ['There is no such account.'];
    if (next !== null) lines.push(`There are more: --after ${next}`);
    return { accounts: accounts.map(withState), next, text: lines.join('\n') };
  });
}

/** An account with its state in a word. */
export function withState<T extends ListedAccount>(account: T): T & { state: 'active' | 'suspended' } {
  return { ...account, state: account.suspendedAt ? 'suspended' : 'active' };
}

const HEADING = row(
  'state',
  'created',
  'last seen',
  ['workspaces', 'document bytes', 'asset bytes'],
  'email',
);

function line(account: ListedAccount): string {
  const { createdAt, lastSeenAt, workspaces, documentBytes, assetBytes, email } = account;
  const held = [workspaces, documentBytes, assetBytes].map(String);
  return row(withState(account).state, day(createdAt), lastSeenAt ? day(lastSeenAt) : '–', held, email);
}

function row(state: string, created: string, seen: string, held: readonly string[], email: string): string {
  const left = [state.padEnd(9), created.padEnd(10), seen.padEnd(10)];
  return [...left, ...held.map((text) => text.padStart(14)), email].join('  ');
}

const day = (time: Date): string => time.toISOString().slice(0, 10);
