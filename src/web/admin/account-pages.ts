import { Injectable } from '@nestjs/common';
import { Accounts } from '../../domain/accounts/index.js';
import { StorageQuota } from '../../domain/assets/index.js';
import { Administrators } from '../../domain/auth/index.js';
import { Subscriptions } from '../../domain/billing/index.js';
import { DocumentQuota } from '../../domain/files/index.js';
import { DONE } from './account-actions.js';
import { accountView, listView } from './account-view.js';
import type { AdminRequest } from './admin-door.js';
import type { AdminPage } from './admin-layout.js';

/** How many accounts a page lists. */
const ACCOUNTS_OF_PAGE = 50;

/** The pages with accounts. */
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
