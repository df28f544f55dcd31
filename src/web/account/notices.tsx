import type { VNode } from 'preact';
import { ALL_MUTABLE, MUTABLE_NOTICES } from '../../domain/accounts/notices/index.js';
import { Hidden } from '../layout/index.js';
import type { AccountPageProps } from './account-page-props.js';

export function NoticesSection({ csrfToken, overview }: AccountPageProps): VNode {
  return (
    <section aria-labelledby="notices">
      <h2 id="notices">Mail notices</h2>
      <p class="hint">
        Mails about the security of your account, such as a new sign-in or a changed password, are always
        sent.
      </p>
      <form method="post" action="/account/notices" aria-label="Mail notices">
        <Hidden fields={{ csrf_token: csrfToken }} />
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
      </form>
    </section>
  );
}
