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

/** The action of a form on an account's page. Returns a page to show instead of the account's own. */
export type AccountAction = (userId: string, action: AdminAction) => Promise<AdminPage | undefined>;

/** Administrators' actions for users who cannot sign in any more. */
@Injectable()
export class RecoveryActions {
  constructor(
    private readonly passwordReset: PasswordReset,
    private readonly factorReset: FactorReset,
    private readonly providerLinks: ProviderLinks,
  ) {}

  /** For a user who has lost them. */
  readonly resetFactors: AccountAction = async (userId, { by }) => {
    await this.factorReset.run(userId, by);
    return undefined;
  };

  /** The new password is shown once. */
  readonly resetPassword: AccountAction = async (userId, { by }) => {
    const password = generatePassword();
    await this.passwordReset.run(userId, password, by);
    return passwordView(userId, password);
  };

  /** For a user who has another account at the provider now. */
  readonly unlink: AccountAction = async (userId, { by }) => {
    await this.providerLinks.unlink(userId, by);
    return undefined;
  };
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

  readonly suspend: AccountAction = async (userId, { by }) => {
    await this.suspensions.suspend(userId, by);
    return undefined;
  };

  readonly resume: AccountAction = async (userId, { by }) => {
    await this.suspensions.resume(userId, by);
    return undefined;
  };

  readonly demote: AccountAction = async (userId, { by }) => {
    await this.administrators.demote(userId, by);
    return undefined;
  };

  readonly endSessions: AccountAction = async (userId, { by }) => {
    await this.userSessions.endAllBut(userId, null, by);
    return undefined;
  };
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
  private readonly actions: Readonly<Record<AccountActionName, AccountAction>>;

  constructor(
    access: AccessActions,
    private readonly subscriptions: Subscriptions,
    private readonly deletion: AccountDeletion,
    private readonly accounts: Accounts,
    private readonly killSwitch: KillSwitch,
  ) {
    this.actions = {
      suspend: access.suspend,
      resume: access.resume,
      'end-sessions': access.endSessions,
      'reset-password': access.recovery.resetPassword,
      'reset-factors': access.recovery.resetFactors,
      unlink: access.recovery.unlink,
      demote: access.demote,
      grant: (userId, action) => this.grant(userId, action),
      delete: (userId, action) => this.delete(userId, action),
    };
  }

  /** @throws Conflict for what an administrator cannot do to themself, NotFound, and what the action throws */
  async run(name: AccountActionName, userId: string, action: AdminAction): Promise<AdminPage | Onwards> {
    if (userId === action.administrator.userId && NOT_ONESELF.includes(name))
      throw new Conflict('you cannot do this to your own account: ask another administrator or the operator');
    if (!OPEN_WHEN_READ_ONLY.includes(name)) this.killSwitch.refuseWhen('read-only');
    await this.accounts.get(userId);
    const page = await this.actions[name](userId, action);
    if (page) return page;
    const at = name === 'delete' ? '/admin' : `/admin/accounts/${userId}`;
    return { location: `${at}?done=${name}` };
  }

  private async grant(userId: string, { form, by }: AdminAction): Promise<undefined> {
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

  private async delete(userId: string, { form, by }: AdminAction): Promise<undefined> {
    await this.deletion.delete(userId, form.text('confirm'), by);
  }
}

/** Accounts on a page. */
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
    const account = await this.accounts.get(userId); // sequential: a page must not take several connections at once
    const subscription = await this.subscriptions.describe(userId);
    const documents = await this.documents.usage(userId);
    const assets = await this.assets.usage(userId);
    const hasSecondFactor = await this.administrators.hasSecondFactor(userId);
    const isOneself = administrator.userId === userId;
    return {
      title: account.name,
      section: 'Accounts',
      notice: noticeIn(query.text('done')),
      content: accountView({
        account,
        subscription,
        documents,
        assets,
        hasSecondFactor,
        isOneself,
        csrfToken,
        canGrant: !this.subscriptions.isOff,
      }),
    };
  }
}

function noticeIn(done: string): string | undefined {
  return Object.hasOwn(DONE, done) ? DONE[done as keyof typeof DONE] : undefined;
}
