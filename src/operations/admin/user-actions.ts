import type { INestApplicationContext } from '@nestjs/common';
import {
  AccountDeletion,
  type AccountDetails,
  Accounts,
  CancellationOutbox,
  type ListedAccount,
  type ListOptions,
} from '../../domain/accounts/index.js';
import { StorageQuota } from '../../domain/assets/index.js';
import { BY_OPERATOR } from '../../domain/auth/audit/index.js';
import {
  Administrators,
  type FactorCounts,
  FactorReset,
  generatePassword,
  PasswordReset,
  ProviderLinks,
  Suspensions,
  type UserEntity,
  Users,
} from '../../domain/auth/index.js';
import { Subscriptions } from '../../domain/billing/index.js';
import { DocumentQuota } from '../../domain/files/index.js';
import { Conflict } from '../../platform/http/index.js';
import { accountOf, type Report, withService } from './with-service.js';

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

/** Creates an account with a generated password, even if sign-up is disabled. @throws Conflict */
export function createUser(email: string, name = nameIn(email)): Promise<Report> {
  return withService(async (service) => {
    const password = generatePassword();
    const user = await service.get(Users).create(email, name, password);
    const text = `Created ${user.email} with the password ${password}\n${SHOWN_ONCE}`;
    return { id: user.id, email: user.email, name: user.name, password, text };
  });
}

/**
 * Reports what `createUser` would do. A user who has only used dev-login would get a password, and keep the name. @throws
 * Conflict
 */
export function previewUser(email: string, name = nameIn(email)): Promise<Report> {
  return withService(async (service) => {
    const users = service.get(Users);
    const user = await users.findByEmail(email);
    if (user && (await users.hasPassword(user.id)))
      throw new Conflict(`an account for ${email} already exists`);
    const text = user ? `${user.email} would get a password` : `${email.toLowerCase()} would be created`;
    const fields = { email: email.toLowerCase(), name: user?.name ?? name, isNew: user === null };
    return { dryRun: true, ...fields, text };
  });
}

function nameIn(email: string): string {
  return email.split('@')[0] ?? email;
}

/** Gives an account a generated password and ends its sessions. @throws NotFound */
export function resetPassword(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const password = generatePassword();
    const sessions = await service.get(PasswordReset).run(user.id, password);
    const text = `${user.email} has the new password ${password}\n${SHOWN_ONCE}\n${sessionsInWords(sessions, 'ended')}`;
    return { id: user.id, email: user.email, password, sessions, text };
  });
}

/** Reports what `resetPassword` would do. @throws NotFound */
export function previewReset(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const hasPassword = await service.get(Users).hasPassword(user.id);
    const sessions = await service.get(PasswordReset).preview(user.id);
    const password = hasPassword ? 'a new password' : 'its first password';
    const text = `${user.email} would get ${password}\n${sessionsInWords(sessions, 'would be ended')}`;
    return { dryRun: true, id: user.id, email: user.email, hasPassword, sessions, text };
  });
}

function sessionsInWords(sessions: number, ended: string): string {
  const count = sessions === 1 ? '1 session' : `${sessions} sessions`;
  return `${count} ${ended}. Personal access tokens stay; revoke them at /account.`;
}

/** The note printed with a new password. */
const SHOWN_ONCE = 'It is not shown again. To change it, sign in and send POST /api/auth/change-password.';

/** Suspends an account on every instance within five seconds; has no effect on a suspended one. @throws NotFound */
export function suspendUser(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const changed = await service.get(Suspensions).suspend(user.id);
    const text = changed
      ? `${user.email} is suspended: it cannot sign in, and its sessions and tokens are refused. Its data is kept.`
      : `${user.email} was already suspended.`;
    return { ...fieldsOf(user), state: 'suspended', changed, text };
  });
}

/** Ends a suspension at once. @throws NotFound */
export function resumeUser(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const changed = await service.get(Suspensions).resume(user.id);
    const text = changed
      ? `${user.email} is active again, with the sessions and tokens it had.`
      : `${user.email} was not suspended.`;
    return { ...fieldsOf(user), state: 'active', changed, text };
  });
}

/** Reports what either command would do. @throws NotFound */
export function previewSuspension(email: string, isToBeSuspended: boolean): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const state = isToBeSuspended ? 'suspended' : 'active';
    const changed = (user.suspendedAt !== null) !== isToBeSuspended;
    const text = changed ? `${user.email} would be ${state}.` : `${user.email} is already ${state}.`;
    return { dryRun: true, ...fieldsOf(user), state, changed, text };
  });
}

const fieldsOf = ({ id, email }: UserEntity): { id: string; email: string } => ({ id, email });

/**
 * Permanently deletes an account, as its owner can: sign-in is refused from then on, open sockets are closed within seconds, and
 * a running service purges the rows and blobs of its workspaces. @throws NotFound
 */
export function deleteUser(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const held = await holdings(service, user.id);
    await service.get(AccountDeletion).delete(user.id, user.email, BY_OPERATOR);
    await service.get(CancellationOutbox).settled();
    const text = `Deleted ${user.email} with ${holdingsInWords(held)}.`;
    return { id: user.id, email: user.email, ...held, text };
  });
}

/** Reports what would be deleted. @throws NotFound */
export function previewDeletion(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const held = await holdings(service, user.id);
    const text = `${user.email} would be permanently deleted, with ${holdingsInWords(held)}.`;
    return { dryRun: true, id: user.id, email: user.email, ...held, text };
  });
}

type Holdings = Pick<AccountDetails, 'workspaces' | 'documentBytes' | 'assetBytes'>;

async function holdings(service: INestApplicationContext, userId: string): Promise<Holdings> {
  const { workspaces, documentBytes, assetBytes } = await service.get(Accounts).get(userId);
  return { workspaces, documentBytes, assetBytes };
}

function holdingsInWords({ workspaces, documentBytes, assetBytes }: Holdings): string {
  const all = workspaces === 1 ? '1 workspace' : `${workspaces} workspaces`;
  return `${all}, ${documentBytes} bytes of documents and ${assetBytes} bytes of assets`;
}

/** Grants or revokes administrator rights; takes effect with the user's next request. @throws NotFound */
export function setAdministrator(email: string, isToBe: boolean): Promise<Report> {
  return withService(async (service) => {
    const { id, email: address } = await accountOf(service, email);
    const administrators = service.get(Administrators);
    const changed = await administrators[isToBe ? 'promote' : 'demote'](id, BY_OPERATOR);
    const hasSecondFactor = await administrators.hasSecondFactor(id);
    const state = isToBe ? 'an administrator' : 'no administrator';
    const missing = isToBe && !hasSecondFactor ? ` ${NEEDS_FACTOR}` : '';
    const text = `${address} is ${changed ? 'now' : 'already'} ${state}.${missing}`;
    return { id, email: address, administrator: isToBe, changed, hasSecondFactor, text };
  });
}

/** Reports what `setAdministrator` would do. @throws NotFound */
export function previewAdministrator(email: string, isToBe: boolean): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const changed = (user.promotedAt !== null) !== isToBe;
    const state = isToBe ? 'an administrator' : 'no administrator';
    const text = `${user.email} ${changed ? 'would be' : 'is already'} ${state}.`;
    return { dryRun: true, id: user.id, email: user.email, administrator: isToBe, changed, text };
  });
}

const NEEDS_FACTOR = '/admin opens once the account has a second factor: set one up at /account.';

const ONLY_WAY = ' It has no password and no passkey that works: single sign-on links it again.';

/** Ends the link of an account to single sign-on, and its sessions. @throws NotFound, also without a link */
export function unlinkUser(address: string): Promise<Report> {
  return withService(async (service) => {
    const { id, email } = await accountOf(service, address);
    const unlinked = await service.get(ProviderLinks).unlink(id, BY_OPERATOR);
    const count = `${unlinked.sessions} session${unlinked.sessions === 1 ? '' : 's'}`;
    const text = `${email} is no longer linked to single sign-on; ended ${count}.${unlinked.hasAnotherWay ? '' : ONLY_WAY}`;
    return { id, email, ...unlinked, text };
  });
}

/** Reports what `unlinkUser` would do. @throws NotFound */
export function previewUnlinking(address: string): Promise<Report> {
  return withService(async (service) => {
    const { id, email } = await accountOf(service, address);
    const { isLinked, hasAnotherWay } = await service.get(ProviderLinks).state(id);
    const text = isLinked
      ? `${email} would no longer be linked to single sign-on.${hasAnotherWay ? '' : ONLY_WAY}`
      : `${email} is not linked to single sign-on.`;
    return { dryRun: true, id, email, isLinked, hasAnotherWay, text };
  });
}

/** Removes the second factor and the passkeys of an account, and ends its sessions. @throws NotFound */
export function resetFactors(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const removed = await service.get(FactorReset).run(user.id);
    const text = `Removed ${factorsInWords(removed)} of ${user.email}. The password stays.`;
    return { id: user.id, email: user.email, ...removed, text };
  });
}

/** Reports what `resetFactors` would remove. @throws NotFound */
export function previewResetFactors(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const counts = await service.get(FactorReset).preview(user.id);
    const text = `${factorsInWords(counts)} of ${user.email} would be removed.`;
    return { dryRun: true, id: user.id, email: user.email, ...counts, text };
  });
}

function factorsInWords({ factors, passkeys, sessions }: FactorCounts): string {
  const count = (number: number, one: string): string => `${number} ${one}${number === 1 ? '' : 's'}`;
  return `${count(factors, 'second factor')}, ${count(passkeys, 'passkey')} and ${count(sessions, 'session')}`;
}
