import type { VNode } from 'preact';
import { ALL_MUTABLE, MUTABLE_NOTICES } from '../../domain/accounts/notices/index.js';
import { Field, PostForm } from '../layout/index.js';
import { type AccountPageProps, Confirmation, enteredIn, FoldedForm, formAt } from './account-form.js';

export function EmailAddress(props: AccountPageProps): VNode {
  const form = formAt(props, '/account/email');
  return (
    <>
      <p class="hint">A link is sent to the new address; until you follow it, nothing changes.</p>
      <FoldedForm {...form} summary="Change address">
        <Field
          {...enteredIn(form, 'email')}
          id="new-email"
          label="New email address"
          type="email"
          autocomplete="email"
        />
        <Confirmation {...form} id="email-password" />
        <button type="submit">Send the link</button>
      </FoldedForm>
    </>
  );
}

export function MailNotices({ csrfToken, overview }: AccountPageProps): VNode {
  return (
    <>
      <p class="hint">
        Mails about the security of your account, such as a new sign-in or a changed password, are always
        sent.
      </p>
      <PostForm action="/account/notices" csrfToken={csrfToken} label="Mail notices">
        <fieldset>
          <legend>Send me a mail about</legend>
          {ALL_MUTABLE.map((notice) => (
            <label class="choice" key={notice}>
              <input
                type="checkbox"
                name="notices"
                value={notice}
                checked={overview.wantedNotices?.includes(notice)}
              />
              <span>{MUTABLE_NOTICES[notice]}</span>
            </label>
          ))}
        </fieldset>
        <button type="submit">Save the choice</button>
      </PostForm>
    </>
  );
}
