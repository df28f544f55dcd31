import { Injectable } from '@nestjs/common';
import { AccountDeletion, Accounts } from '../../domain/accounts/index.js';
import { STATUSES, Subscriptions, type SubscriptionStatus } from '../../domain/billing/index.js';
import { isInstant, parseInstant } from '../../platform/clock/index.js';
import { BadRequest, Conflict } from '../../platform/http/index.js';
import { KillSwitch } from '../../platform/kill-switch/index.js';
import { AccessActions } from './access-actions.js';
import type { AccountAction } from './account-action.js';
import type { AdminAction, Onwards } from './admin-door.js';
import type { AdminPage } from './admin-layout.js';

/** The actions on an account, with the notices that say that they were done. */
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

/** What would lock an administrator out. */
const NOT_ONESELF: readonly AccountActionName[] = ['suspend', 'reset-factors', 'unlink', 'demote', 'delete'];

/** What takes access away or gives it back stays possible while the service is read-only. */
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
