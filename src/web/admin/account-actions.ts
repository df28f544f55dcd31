import { Injectable } from '@nestjs/common';
import { AccountDeletion, Accounts } from '../../domain/accounts/index.js';
import { StorageQuota } from '../../domain/assets/index.js';
import {
  Administrators,
  FactorReset,
  generatePassword,
  PasswordReset,
  ProviderLinks,
  Suspensions,
  UserSessions,
} from '../../domain/auth/index.js';
import { STATUSES, Subscriptions, type SubscriptionStatus } from '../../domain/billing/index.js';
import { DocumentQuota } from '../../domain/files/index.js';
import { isInstant, parseInstant } from '../../platform/clock.js';
import { BadRequest, Conflict } from '../../platform/http/index.js';
import { KillSwitch } from '../../platform/kill-switch.js';
import { accountView, listView, passwordView } from './account-view.js';
import type { AdminAction, AdminRequest, Onwards } from './admin-door.js';
import type { AdminPage } from './admin-layout.js';

type AccountAction = (userId: string, action: AdminAction) => Promise<unknown>;

/** Administrators' actions for users who cannot sign in any more. */
@Injectable()
export class RecoveryActions {
  constructor(
    private readonly passwordReset: PasswordReset,
    private readonly factorReset: FactorReset,
    private readonly providerLinks: ProviderLinks,
  ) {}

  /** For a user who has lost them. */
  readonly resetFactors: AccountAction = (userId, { by }) => this.factorReset.run(userId, by);

  /** For a user who has another account at the provider now. */
  readonly unlink: AccountAction = (userId, { by }) => this.providerLinks.unlink(userId, by);

  /** Returns a page that shows the new password, once. */
  async resetPassword(userId: string, { by }: AdminAction): Promise<AdminPage> {
    const password = generatePassword();
    await this.passwordReset.run(userId, password, by);
    return passwordView(userId, password);
  }
}

/** Administrators' actions on the access of an account. */
@Injectable()
export class AccessActions {
  constructor(
    private readonly suspensions: Suspensions,
    private readonly administrators: Administrators,
    private readonly userSessions: UserSessions,
    readonly recovery: RecoveryActions,
  ) {}

  readonly suspend: AccountAction = (userId, { by }) => this.suspensions.suspend(userId, by);
  readonly resume: AccountAction = (userId, { by }) => this.suspensions.resume(userId, by);
  readonly demote: AccountAction = (userId, { by }) => this.administrators.demote(userId, by);
  readonly endSessions: AccountAction = (userId, { by }) => this.userSessions.endAllBut(userId, null, by);
}

/** The actions on an account, with the notice shown after each. */
export const DONE = {
  suspend: 'The account is suspended. Its data is kept.',
  resume: 'The account is active again, with the sessions and tokens that it had.',
  'end-sessions': 'All sign-ins of the account have ended. Access tokens stay.',
  'reset-password': 'The password is reset.',
  'reset-factors':
    'The second factor and all passkeys are removed, and all sign-ins have ended. The password stays.',
  unlink: 'The account is no longer linked to single sign-on, and all sign-ins have ended.',
  grant: 'The plan is set.',
  demote: 'The user is no longer an administrator.',
  delete: 'The account is deleted.',
} as const;

export type AccountActionName = keyof typeof DONE;

/** Actions with which administrators would lock themselves out. */
const NOT_ONESELF: readonly AccountActionName[] = ['suspend', 'reset-factors', 'unlink', 'demote', 'delete'];

/** Actions that revoke or restore access stay possible while the service is read-only. */
const OPEN_WHEN_READ_ONLY: readonly AccountActionName[] = ['suspend', 'resume', 'end-sessions', 'demote'];

/** The admin page's actions on an account, through the services of the admin command. */
@Injectable()
export class AccountActions {
  private readonly actions: Readonly<Record<Exclude<AccountActionName, 'reset-password'>, AccountAction>>;

  constructor(
    private readonly access: AccessActions,
    private readonly subscriptions: Subscriptions,
    deletion: AccountDeletion,
    private readonly accounts: Accounts,
    private readonly killSwitch: KillSwitch,
  ) {
    this.actions = {
      suspend: access.suspend,
      resume: access.resume,
      'end-sessions': access.endSessions,
      'reset-factors': access.recovery.resetFactors,
      unlink: access.recovery.unlink,
      demote: access.demote,
      grant: (userId, action) => this.grant(userId, action),
      delete: (userId, { form, by }) => deletion.delete(userId, form.text('confirm'), by),
    };
  }

  /** @throws Conflict for what an administrator cannot do to themself, NotFound, and what the action throws */
  async run(name: AccountActionName, userId: string, action: AdminAction): Promise<AdminPage | Onwards> {
    if (userId === action.administrator.userId && NOT_ONESELF.includes(name))
      throw new Conflict('you cannot do this to your own account: ask another administrator or the operator');
    if (!OPEN_WHEN_READ_ONLY.includes(name)) this.killSwitch.refuseWhen('read-only');
    await this.accounts.get(userId);
    if (name === 'reset-password') return this.access.recovery.resetPassword(userId, action);
    await this.actions[name](userId, action);
    const at = name === 'delete' ? '/admin' : `/admin/accounts/${userId}`;
    return { location: `${at}?done=${name}` };
  }

  private async grant(userId: string, { form, by }: AdminAction): Promise<void> {
    const status = form.text('status');
    const until = form.text('until');
    // Without the field the plan would have no end.
    if (form.get('until') === undefined) throw new BadRequest('choose an end, or leave it empty');
    if (!STATUSES.some((one) => one === status)) throw new BadRequest('choose a status');
    if (until !== '' && !isInstant(until))
      throw new BadRequest('the end must be an ISO 8601 time, such as 2027-01-31T12:00:00Z');
    const end = until === '' ? null : parseInstant(until);
    await this.subscriptions.grant(userId, status as SubscriptionStatus, end, by);
  }
}

const ACCOUNTS_OF_PAGE = 50;

@Injectable()
export class AccountPages {
  constructor(
    private readonly accounts: Accounts,
    private readonly subscriptions: Subscriptions,
    private readonly documents: DocumentQuota,
    private readonly assets: StorageQuota,
    private readonly administrators: Administrators,
  ) {}

  async list({ query }: AdminRequest): Promise<AdminPage> {
    const search = query.text('search');
    const after = query.text('after');
    const found = await this.accounts.list({ limit: ACCOUNTS_OF_PAGE + 1, search, after });
    const accounts = found.slice(0, ACCOUNTS_OF_PAGE);
    return {
      title: 'Accounts',
      section: 'Accounts',
      notice: noticeIn(query.text('done')),
      content: listView({ accounts, search, hasMore: found.length > accounts.length }),
    };
  }

  /** @throws NotFound */
  async one({ administrator, csrfToken, query }: AdminRequest, userId: string): Promise<AdminPage> {
    const account = await this.accounts.get(userId);
    return {
      title: account.name,
      section: 'Accounts',
      notice: noticeIn(query.text('done')),
      content: accountView({
        account,
        subscription: await this.subscriptions.describe(userId), // sequential: a page must not take several connections at once
        documents: await this.documents.usage(userId),
        assets: await this.assets.usage(userId),
        hasSecondFactor: await this.administrators.hasSecondFactor(userId),
        isOneself: administrator.userId === userId,
        csrfToken,
        canGrant: !this.subscriptions.isOff,
      }),
    };
  }
}

function noticeIn(done: string): string | undefined {
  return Object.hasOwn(DONE, done) ? DONE[done as keyof typeof DONE] : undefined;
}
