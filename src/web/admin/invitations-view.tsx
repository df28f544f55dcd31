import type { VNode } from 'preact';
import type { Invitations, NewInvitation } from '../../domain/accounts/index.js';
import { CopyField, Field, Hidden, Time } from '../layout/index.js';
import { AdminForm, type AdminPage } from './admin-layout.js';

/** How many open invitations are listed. */
const LISTED = 200;

export async function invitationsView(invitations: Invitations, csrfToken: string): Promise<VNode> {
  const open = await invitations.open(LISTED);
  return (
    <>
      <AdminForm action="/admin/invitations" csrfToken={csrfToken} label="Invite">
        <Field
          id="email"
          name="email"
          label="Email address"
          type="email"
          autocomplete="off"
          hint="The link works once, for seven days, and only for this address."
        />
        <button type="submit">Invite</button>
      </AdminForm>
      <section aria-labelledby="open">
        <h2 id="open">Open invitations</h2>
        {open.length === 0 && <p class="hint">There is none.</p>}
        {open.length === LISTED && (
          <p class="hint">There may be older ones. The newest {LISTED} are shown.</p>
        )}
        <ul class="things">
          {open.map(({ email, expiresAt }) => (
            <li key={email}>
              <div>
                <p>{email}</p>
                <p class="hint">
                  Until <Time at={expiresAt} />
                </p>
              </div>
              <AdminForm
                action="/admin/invitations/revoke"
                csrfToken={csrfToken}
                label={`Revoke the invitation of ${email}`}
              >
                <Hidden fields={{ email }} />
                <button type="submit" class="quiet">
                  Revoke
                </button>
              </AdminForm>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

/** The page that shows the link of a new invitation, once. */
export function invitedView({ email, link, expiresAt, isMailed }: NewInvitation): AdminPage {
  return {
    title: 'Invited',
    section: 'Invitations',
    content: (
      <>
        <p>
          {isMailed
            ? `A mail with this link is on its way to ${email}. Pass the link on if the mail does not arrive.`
            : `Send this link to ${email}.`}{' '}
          It works once, until <Time at={expiresAt} />.
        </p>
        <div class="field new-token">
          <label for="link">The link. It is not shown again.</label>
          <CopyField id="link" value={link} />
        </div>
        <p>
          <a href="/admin/invitations">Back to the invitations</a>
        </p>
      </>
    ),
  };
}
