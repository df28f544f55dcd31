import type { VNode } from 'preact';
import { Field, Layout } from '../layout/index.js';
import { type AccountPageProps, Confirmation, enteredIn, FoldedForm, formAt } from './account-form.js';

export function Profile(props: AccountPageProps): VNode {
  const form = formAt(props, '/account/name');
  return (
    <FoldedForm {...form} summary="Change name">
      <Field
        {...enteredIn(form, 'name', props.session.name)}
        id="profile-name"
        label="Name"
        autocomplete="name"
      />
      <button type="submit">Change the name</button>
    </FoldedForm>
  );
}

export function Deletion(props: AccountPageProps): VNode {
  const form = formAt(props, '/account/delete');
  return (
    <>
      <p class="hint">
        Everything goes at once and permanently: all workspaces with their notes, versions and attachments,
        devices, tokens and sign-ins. A subscription is cancelled. Nobody can bring any of it back, so{' '}
        <a href="#export">export everything</a> first.
      </p>
      <FoldedForm {...form} summary="Delete my account" label="Delete account">
        <Field
          {...enteredIn(form, 'confirm_email')}
          id="delete-email"
          label="Type the email address of the account"
          type="email"
        />
        <Confirmation {...form} id="delete-password" />
        <button type="submit" class="danger">
          Delete the account now
        </button>
      </FoldedForm>
    </>
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
