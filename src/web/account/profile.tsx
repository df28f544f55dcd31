import type { VNode } from 'preact';
import { ConfirmField, Field, Hidden, Layout } from '../layout/index.js';
import type { AccountPageProps } from './account-page-props.js';

export function ProfileSection({ csrfToken, session, failedRename }: AccountPageProps): VNode {
  return (
    <section aria-labelledby="profile">
      <h2 id="profile">Profile</h2>
      <details open={failedRename !== undefined}>
        <summary>Change name</summary>
        <form method="post" action="/account/name" aria-label="Change name">
          <Hidden fields={{ csrf_token: csrfToken }} />
          <Field
            id="profile-name"
            name="name"
            label="Name"
            type="text"
            autocomplete="name"
            value={failedRename?.value ?? session.name}
            fault={failedRename?.fault}
            isFocused={failedRename !== undefined}
          />
          <button type="submit">Change the name</button>
        </form>
      </details>
    </section>
  );
}

export function DeleteSection(props: AccountPageProps): VNode {
  const { csrfToken, needsConfirmation, failedDeletion } = props;
  const { faults = {}, value } = failedDeletion ?? {};
  return (
    <section aria-labelledby="delete">
      <h2 id="delete">Delete account</h2>
      <p class="hint">
        Everything goes at once and permanently: all workspaces with their notes, versions and attachments,
        devices, tokens and sign-ins. A subscription is cancelled. Nobody can bring any of it back, so{' '}
        <a href="#export">export everything</a> first.
      </p>
      <details open={failedDeletion !== undefined}>
        <summary>Delete my account</summary>
        <form method="post" action="/account/delete" aria-label="Delete account">
          <Hidden fields={{ csrf_token: csrfToken }} />
          <Field
            id="delete-email"
            name="confirm_email"
            label="Type the email address of the account"
            type="email"
            autocomplete="off"
            value={value ?? ''}
            fault={faults.email}
            isFocused={faults.email !== undefined}
          />
          {needsConfirmation && <ConfirmField id="delete-password" fault={faults.password} />}
          <button type="submit" class="danger">
            Delete the account now
          </button>
        </form>
      </details>
    </section>
  );
}

/** Shown once, after the account is deleted. */
export function deletedPage(): VNode {
  return (
    <Layout title="Account deleted">
      <h1>Your account is deleted</h1>
      <p>
        You are signed out everywhere, and the address is free. Copies on your own devices are yours and stay
        as they are.
      </p>
      <p>
        <a href="/">Back to the start</a>
      </p>
    </Layout>
  );
}
