import type { VNode } from 'preact';
import type { Subscription } from '../../domain/billing/index.js';
import { inBytes, PostForm, Time } from '../layout/index.js';
import { type AccountPageProps, ActionButton, Confirmation, formAt } from './account-form.js';

export function BillingButton({ csrfToken, hasBilling }: AccountPageProps): VNode | null {
  return hasBilling ? <ActionButton action="/account/billing" csrfToken={csrfToken} text="Billing" /> : null;
}

export function Plan({ overview, csrfToken }: AccountPageProps): VNode {
  const { subscription, documents, storage } = overview;
  return (
    <>
      <p>
        <span class="plan">{subscription.plan}</span> <PlanStatus subscription={subscription} />
      </p>
      {subscription.status === 'free' && subscription.trialStart === null && (
        <div class="heading">
          <p class="hint">
            Apps can write only with a subscription. The trial is free, lasts 30 days, and can be started
            once.
          </p>
          <ActionButton
            action="/account/trial"
            csrfToken={csrfToken}
            text="Start the trial"
            isQuiet={false}
          />
        </div>
      )}
      <Bar label="Storage in use for attachments" what="for attachments" {...storage} />
      {storage.locked && <p class="hint">Storage is locked: no attachments can be added.</p>}
      <Bar
        label="Storage in use for notes and files"
        what="for notes and files, with their history"
        usedBytes={documents.usedBytes}
        quotaBytes={documents.quotaBytes || null}
      />
    </>
  );
}

interface BarProps {
  readonly label: string;
  readonly what: string;
  readonly usedBytes: number;
  /** Null means unlimited; then there is no bar. */
  readonly quotaBytes: number | null;
}

function Bar({ label, what, usedBytes, quotaBytes }: BarProps): VNode {
  const quota = quotaBytes === null ? '' : ` of ${inBytes(quotaBytes)}`;
  return (
    <>
      {quotaBytes !== null && (
        <progress aria-label={label} max={Math.max(quotaBytes, 1)} value={Math.min(usedBytes, quotaBytes)} />
      )}
      <p class="hint">
        {inBytes(usedBytes)}
        {quota} in use {what}
      </p>
    </>
  );
}

function PlanStatus({ subscription }: { readonly subscription: Subscription }): VNode {
  const { status, trialEnd, currentPeriodEnd, cancelAtPeriodEnd } = subscription;
  const texts: Record<Subscription['status'], string> = {
    free: 'No subscription',
    trial: 'Trial until',
    active: cancelAtPeriodEnd ? 'Active, ends' : 'Active, renews',
    past_due: 'A payment is overdue',
    cancelled: 'Cancelled, ends',
    expired: 'The subscription has ended',
  };
  const end = { trial: trialEnd, active: currentPeriodEnd, cancelled: currentPeriodEnd }[status as string];
  if (!end) return <span>{texts[status].replace(/(?:, (?:ends|renews)| until)$/, '')}</span>;
  return (
    <span>
      {texts[status]} <Time at={end} />
    </span>
  );
}

export function Export(props: AccountPageProps): VNode {
  const form = formAt(props, '/account/export');
  return (
    <>
      <p class="hint">
        Downloads one file with everything that is stored here: all workspaces with every kept version, and
        what is known about your account. Notes and names stay encrypted; the example program decrypts them
        with your vault’s password.
      </p>
      <PostForm {...form} label="Export everything">
        <Confirmation {...form} id="export-password" />
        <button type="submit" class="quiet">
          Export everything
        </button>
      </PostForm>
    </>
  );
}
