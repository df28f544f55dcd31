import type { VNode } from 'preact';
import { Field, Hidden } from '../layout/index.js';
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
