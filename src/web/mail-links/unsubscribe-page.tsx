import type { VNode } from 'preact';
import { UNSUBSCRIBE } from '../../domain/accounts/notices/index.js';
import { Layout, Masthead } from '../layout/index.js';

interface PageProps {
  readonly host: string;
}

interface NoticeProps extends PageProps {
  /** What the mails are about. */
  readonly about: string;
}

/** Names neither the account nor its address: whoever was forwarded the mail sees no more than it says. */
export function unsubscribePage({ host, token, about }: NoticeProps & { readonly token: string }): VNode {
  return (
    <Layout title="Turn off mails">
      <Masthead host={host} />
      <h1>Turn off mails</h1>
      <p>No more mails about {about}?</p>
      <form method="post" action={`${UNSUBSCRIBE}?token=${token}`} aria-label="Turn off">
        <button type="submit">Turn these mails off</button>
      </form>
      <p class="hint">
        You can turn them on again on your account page. Mails about the security of your account are always
        sent.
      </p>
    </Layout>
  );
}

export function mutedPage({ host, about }: NoticeProps): VNode {
  return (
    <Layout title="These mails are off">
      <Masthead host={host} />
      <h1>These mails are off</h1>
      <p role="status">No more mails about {about} are sent to your account.</p>
      <p>
        Turn them on again on <a href="/account#notices">your account page</a>.
      </p>
    </Layout>
  );
}

export function unknownLinkPage({ host }: PageProps): VNode {
  return (
    <Layout title="This link does not work">
      <Masthead host={host} />
      <h1>This link does not work</h1>
      <p>It may have been cut off. Copy the whole link from the mail.</p>
      <p>
        You can also choose on <a href="/account#notices">your account page</a> which mails are sent.
      </p>
    </Layout>
  );
}
