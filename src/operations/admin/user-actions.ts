import {
  AccountDeletion,
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
  Users,
} from '../../domain/auth/index.js';
import { Subscriptions } from '../../domain/billing/index.js';
import { DocumentQuota } from '../../domain/files/index.js';
import { Conflict } from '../../platform/http/index.js';
import { type DryRun, linesOf, onAccount, type Report, withService } from './with-service.js';

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
export function showUser(address: string): Promise<Report> {
  return onAccount(address, async (service, { id }) => {
    const account = withState(await service.get(Accounts).get(id));
    const subscription = await service.get(Subscriptions).describe(id);
    const { usedBytes, quotaBytes } = await service.get(DocumentQuota).usage(id);
    const assets = await service.get(StorageQuota).usage(id);
    const text = linesOf({
      ...account,
      subscription: `${subscription.status}, plan ${subscription.plan}, ${subscription.isActive ? 'active' : 'not active'}`,
      documents: quotaBytes === 0 ? `${usedBytes} bytes, unlimited` : `${usedBytes} of ${quotaBytes} bytes`,
      assets: `${assets.usedBytes} of ${assets.quotaBytes} bytes${assets.locked ? ', locked' : ''}`,
    });
    return { ...account, subscription, documents: { usedBytes, quotaBytes }, assets, text };
  });
}

interface NewUserOptions extends DryRun {
  readonly name?: string;
}

/**
 * Creates an account with a generated password, even if sign-up is disabled. A user who has only used dev-login gets a password,
 * and keeps the name. @throws Conflict
 */
export function createUser(address: string, options: NewUserOptions): Promise<Report> {
  const { name = address.split('@')[0] ?? address, dryRun } = options;
  return withService(async (service) => {
    const users = service.get(Users);
    if (dryRun) return { dryRun, ...(await preview(users, address, name)) };
    const password = generatePassword();
    const user = await users.create(address, name, password);
    const text = `Created ${user.email} with the password ${password}\n${SHOWN_ONCE}`;
    return { id: user.id, email: user.email, name: user.name, password, text };
  });
}

async function preview(users: Users, address: string, name: string): Promise<Report> {
  const user = await users.findByEmail(address);
  if (user && (await users.hasPassword(user.id)))
    throw new Conflict(`an account for ${address} already exists`);
  const email = address.toLowerCase();
  const text = user ? `${user.email} would get a password` : `${email} would be created`;
  return { email, name: user?.name ?? name, isNew: user === null, text };
}

/** The note printed with a new password. */
const SHOWN_ONCE = 'It is not shown again. To change it, sign in and send POST /api/auth/change-password.';

/** What a command does to an account, or with `dryRun` would do. @throws NotFound */
export type UserAction = (address: string, options: DryRun) => Promise<Report>;

/** Gives an account a generated password and ends its sessions. */
export const resetPassword: UserAction = (address, { dryRun }) =>
  onAccount(address, async (service, { id, email }) => {
    const reset = service.get(PasswordReset);
    if (dryRun) {
      const hasPassword = await service.get(Users).hasPassword(id);
      const sessions = await reset.preview(id);
      const password = hasPassword ? 'a new password' : 'its first password';
      const text = `${email} would get ${password}\n${sessionsInWords(sessions, 'would be ended')}`;
      return { dryRun, id, email, hasPassword, sessions, text };
    }
    const password = generatePassword();
    const sessions = await reset.run(id, password);
    const text = `${email} has the new password ${password}\n${SHOWN_ONCE}\n${sessionsInWords(sessions, 'ended')}`;
    return { id, email, password, sessions, text };
  });

const sessionsInWords = (sessions: number, ended: string): string =>
  `${counted(sessions, 'session')} ${ended}. Personal access tokens stay; revoke them at /account.`;

const counted = (number: number, one: string): string => `${number} ${one}${number === 1 ? '' : 's'}`;

/** Suspends an account on every instance within five seconds; has no effect on a suspended one. */
export const suspendUser: UserAction = (address, { dryRun }) =>
  onAccount(address, async (service, { id, email, suspendedAt }) => {
    const state = 'suspended';
    if (dryRun) return { dryRun, id, email, ...wouldBe(email, state, suspendedAt === null) };
    const changed = await service.get(Suspensions).suspend(id);
    const text = changed
      ? `${email} is suspended: it cannot sign in, and its sessions and tokens are refused. Its data is kept.`
      : `${email} was already suspended.`;
    return { id, email, state, changed, text };
  });

/** Ends a suspension at once. */
export const resumeUser: UserAction = (address, { dryRun }) =>
  onAccount(address, async (service, { id, email, suspendedAt }) => {
    const state = 'active';
    if (dryRun) return { dryRun, id, email, ...wouldBe(email, state, suspendedAt !== null) };
    const changed = await service.get(Suspensions).resume(id);
    const text = changed
      ? `${email} is active again, with the sessions and tokens it had.`
      : `${email} was not suspended.`;
    return { id, email, state, changed, text };
  });

const wouldBe = (email: string, state: string, changed: boolean): Report => ({
  state,
  changed,
  text: changed ? `${email} would be ${state}.` : `${email} is already ${state}.`,
});

/**
 * Permanently deletes an account, as its owner can: sign-in is refused from then on, open sockets are closed within seconds, and
 * a running service purges the rows and blobs of its workspaces.
 */
export const deleteUser: UserAction = (address, { dryRun }) =>
  onAccount(address, async (service, { id, email }) => {
    const { workspaces, documentBytes, assetBytes } = await service.get(Accounts).get(id);
    const fields = { id, email, workspaces, documentBytes, assetBytes };
    const held = `${counted(workspaces, 'workspace')}, ${documentBytes} bytes of documents and ${assetBytes} bytes of assets`;
    if (dryRun) return { dryRun, ...fields, text: `${email} would be permanently deleted, with ${held}.` };
    await service.get(AccountDeletion).delete(id, email, BY_OPERATOR);
    await service.get(CancellationOutbox).settled();
    return { ...fields, text: `Deleted ${email} with ${held}.` };
  });

const NEEDS_FACTOR = '/admin opens once the account has a second factor: set one up at /account.';

/** Grants or revokes administrator rights; takes effect with the user's next request. */
export const setAdministrator =
  (isToBe: boolean): UserAction =>
  (address, { dryRun }) =>
    onAccount(address, async (service, { id, email, promotedAt }) => {
      const fields = { id, email, administrator: isToBe };
      const state = isToBe ? 'an administrator' : 'no administrator';
      if (dryRun) {
        const changed = (promotedAt !== null) !== isToBe;
        return {
          dryRun,
          ...fields,
          changed,
          text: `${email} ${changed ? 'would be' : 'is already'} ${state}.`,
        };
      }
      const administrators = service.get(Administrators);
      const changed = await administrators[isToBe ? 'promote' : 'demote'](id, BY_OPERATOR);
      const hasSecondFactor = await administrators.hasSecondFactor(id);
      const missing = isToBe && !hasSecondFactor ? ` ${NEEDS_FACTOR}` : '';
      const text = `${email} is ${changed ? 'now' : 'already'} ${state}.${missing}`;
      return { ...fields, changed, hasSecondFactor, text };
    });

const ONLY_WAY = ' It has no password and no passkey that works: single sign-on links it again.';

/** Ends the link of an account to single sign-on, and its sessions. @throws NotFound, also without a link */
export const unlinkUser: UserAction = (address, { dryRun }) =>
  onAccount(address, async (service, { id, email }) => {
    const links = service.get(ProviderLinks);
    if (dryRun) {
      const { isLinked, hasAnotherWay } = await links.state(id);
      const text = isLinked
        ? `${email} would no longer be linked to single sign-on.${hasAnotherWay ? '' : ONLY_WAY}`
        : `${email} is not linked to single sign-on.`;
      return { dryRun, id, email, isLinked, hasAnotherWay, text };
    }
    const unlinked = await links.unlink(id, BY_OPERATOR);
    const count = counted(unlinked.sessions, 'session');
    const text = `${email} is no longer linked to single sign-on; ended ${count}.${unlinked.hasAnotherWay ? '' : ONLY_WAY}`;
    return { id, email, ...unlinked, text };
  });

/** Removes the second factor and the passkeys of an account, and ends its sessions. */
export const resetFactors: UserAction = (address, { dryRun }) =>
  onAccount(address, async (service, { id, email }) => {
    const reset = service.get(FactorReset);
    const counts = await (dryRun ? reset.preview(id) : reset.run(id));
    const all = factorsInWords(counts);
    if (dryRun) return { dryRun, id, email, ...counts, text: `${all} of ${email} would be removed.` };
    return { id, email, ...counts, text: `Removed ${all} of ${email}. The password stays.` };
  });

const factorsInWords = ({ factors, passkeys, sessions }: FactorCounts): string =>
  `${counted(factors, 'second factor')}, ${counted(passkeys, 'passkey')} and ${counted(sessions, 'session')}`;
