import type { VNode } from 'preact';
import type { AccountDetails, ListedAccount } from '../../domain/accounts/index.js';
import type { StorageUsage } from '../../domain/assets/index.js';
import { STATUSES, type SubscriptionDetails } from '../../domain/billing/index.js';
import type { DocumentUsage } from '../../domain/files/index.js';
import { CopyField, Field, inBytes, PostForm, SelectField, Time } from '../layout/index.js';
import { type AdminPage, Facts, SearchForm } from './admin-layout.js';

interface ListProps {
  readonly accounts: readonly ListedAccount[];
  readonly search: string;
  readonly hasMore: boolean;
}

/** Accounts in the order of their addresses, and a search. */
export function listView({ accounts, search, hasMore }: ListProps): VNode {
  const last = accounts.at(-1);
  const more = new URLSearchParams({ ...(search ? { search } : {}), after: last?.email ?? '' });
  return (
    <>
      <SearchForm action="/admin" name="search" label="Address or name" value={search} verb="Search" />
      {accounts.length === 0 && <p class="hint">There is no such account.</p>}
      <ul class="things">
        {accounts.map((account) => (
          <li key={account.id}>
            <div>
              <p>
                <a href={`/admin/accounts/${account.id}`}>{account.email}</a> <States account={account} />
              </p>
              <p class="hint">
                {account.name}, {countOf(account.workspaces)}, {inBytes(account.documentBytes)} of documents,{' '}
                {inBytes(account.assetBytes)} of attachments,{' '}
                {account.lastSeenAt ? 'last seen ' : 'never seen, since '}
                <Time at={account.lastSeenAt ?? account.createdAt} />
              </p>
            </div>
          </li>
        ))}
      </ul>
      {hasMore && (
        <p>
          <a href={`/admin?${more.toString()}`}>More accounts</a>
        </p>
      )}
    </>
  );
}

const countOf = (workspaces: number): string =>
  workspaces === 1 ? '1 workspace' : `${workspaces} workspaces`;

function States({ account }: { readonly account: ListedAccount }): VNode {
  return (
    <>
      {account.suspendedAt && <span class="badge">suspended</span>}
      {account.promotedAt && <span class="badge">administrator</span>}
    </>
  );
}

export interface AccountProps {
  readonly account: AccountDetails;
  readonly subscription: SubscriptionDetails;
  readonly documents: DocumentUsage;
  readonly assets: StorageUsage;
  readonly hasSecondFactor: boolean;
  /** Whether it is the administrator's own account. */
  readonly isOneself: boolean;
  readonly csrfToken: string;
  /** Whether plans exist on this service. */
  readonly canGrant: boolean;
}

export function accountView(props: AccountProps): VNode {
  const { account, subscription, documents, assets, hasSecondFactor } = props;
  const { status, plan, isActive } = subscription;
  return (
    <>
      <p>
        {account.email} <States account={account} />
      </p>
      <Facts
        facts={[
          ['Created', <Time at={account.createdAt} />],
          ['Last seen', account.lastSeenAt ? <Time at={account.lastSeenAt} /> : 'Never'],
          ['Plan', `${plan}, ${status}, ${isActive ? 'active' : 'not active'}`],
          ['Documents', usage(documents.usedBytes, documents.quotaBytes)],
          ['Attachments', `${usage(assets.usedBytes, assets.quotaBytes)}${assets.locked ? ', locked' : ''}`],
          ['Workspaces', account.workspaces],
          ['Sign-ins, tokens, devices', `${account.sessions}, ${account.tokens}, ${account.devices}`],
          ['Second factor', hasSecondFactor ? 'Yes' : 'No'],
          ...(account.isLinked ? [['Single sign-on', 'Yes'] as const] : []),
        ]}
      />
      <p>
        <a href={`/admin/audit?user=${encodeURIComponent(account.email)}`}>What was done to this account</a>
      </p>
      <AccessSection {...props} />
      {props.canGrant && <GrantSection {...props} />}
      {props.isOneself ? (
        <p class="hint">You cannot delete your own account here.</p>
      ) : (
        <DeleteSection {...props} />
      )}
    </>
  );
}

const usage = (used: number, quota: number): string =>
  quota === 0 ? `${inBytes(used)}, unlimited` : `${inBytes(used)} of ${inBytes(quota)}`;

function AccessSection({ account, isOneself, csrfToken }: AccountProps): VNode {
  const at = `/admin/accounts/${account.id}`;
  const act = (name: string, label: string, hint: string): VNode => (
    <li>
      <p class="hint">{hint}</p>
      <PostForm action={`${at}/${name}`} csrfToken={csrfToken} label={label}>
        <button type="submit" class="quiet">
          {label}
        </button>
      </PostForm>
    </li>
  );
  return (
    <section aria-labelledby="access">
      <h2 id="access">Access</h2>
      <ul class="things">
        {!isOneself &&
          (account.suspendedAt
            ? act('resume', 'Resume', 'The account works again, with its sessions and tokens.')
            : act(
                'suspend',
                'Suspend',
                'Nobody can sign in, and sessions and tokens are refused. Data is kept.',
              ))}
        {act('end-sessions', 'End all sign-ins', 'Every browser and app has to sign in again. Tokens stay.')}
        {act('reset-password', 'Reset the password', 'Shows a new password once, and ends all sign-ins.')}
        {!isOneself &&
          act(
            'reset-factors',
            'Remove the second factor and passkeys',
            'For somebody who has lost them. Ends all sign-ins; the password stays.',
          )}
        {!isOneself &&
          account.isLinked &&
          act(
            'unlink',
            'Disconnect single sign-on',
            'For somebody whom the provider knows as another person now. Ends all sign-ins; a later sign-in there with the same address connects it again.',
          )}
        {!isOneself &&
          account.promotedAt &&
          act('demote', 'Demote', 'The user can no longer open these pages.')}
      </ul>
    </section>
  );
}

function GrantSection({ account, csrfToken, subscription }: AccountProps): VNode {
  return (
    <section aria-labelledby="grant">
      <h2 id="grant">Plan</h2>
      <PostForm action={`/admin/accounts/${account.id}/grant`} csrfToken={csrfToken} label="Set the plan">
        <SelectField
          id="status"
          name="status"
          label="Status"
          options={STATUSES.map((status) => ({ value: status, text: status.replace('_', ' ') }))}
          value={subscription.status}
        />
        <Field
          id="until"
          name="until"
          label="Until"
          hint="Such as 2027-01-31T12:00:00Z, in UTC. Empty for no end."
          isRequired={false}
        />
        <button type="submit">Set the plan</button>
      </PostForm>
    </section>
  );
}

function DeleteSection({ account, csrfToken }: AccountProps): VNode {
  return (
    <section aria-labelledby="delete">
      <h2 id="delete">Delete the account</h2>
      <p class="hint">
        Deletes its workspaces, files, attachments, devices and tokens at once. This cannot be undone.
      </p>
      <PostForm
        action={`/admin/accounts/${account.id}/delete`}
        csrfToken={csrfToken}
        label="Delete the account"
      >
        <Field id="confirm" name="confirm" label="The address of the account" type="email" />
        <button type="submit" class="danger">
          Delete the account
        </button>
      </PostForm>
    </section>
  );
}

/** The page that shows a new password, once. */
export function passwordView(userId: string, password: string): AdminPage {
  return {
    title: 'The password is reset',
    section: 'Accounts',
    content: (
      <>
        <p>All sign-ins of the account have ended. Access tokens stay.</p>
        <div class="field new-token">
          <label for="new-password">The new password. It is not shown again.</label>
          <CopyField id="new-password" value={password} />
        </div>
        <p>
          <a href={`/admin/accounts/${userId}`}>Back to the account</a>
        </p>
      </>
    ),
  };
}
