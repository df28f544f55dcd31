import { Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import {
  MUTABLE_NOTICES,
  MutedNotices,
  UNSUBSCRIBE,
  UnsubscribeLinks,
  type Unsubscription,
} from '../../domain/accounts/notices/index.js';
import { page } from '../../platform/api-docs/index.js';
import { Configuration } from '../../platform/config/index.js';
import { NotFound } from '../../platform/http/index.js';
import { Form, type Page, PublicPages, sendPage, SitePage } from '../layout/index.js';
import { NO_MAIL, type OfHost, TOKEN_QUERY } from './link-forms.js';

interface NoticeProps extends OfHost {
  /** What the mails are about. */
  readonly about: string;
}

/** Names neither the account nor its address: a person who was forwarded the mail learns no more than the mail says. */
export function unsubscribePage({ host, token, about }: NoticeProps & { readonly token: string }): VNode {
  return (
    <SitePage title="Turn off mails" host={host}>
      <p>No more mails about {about}?</p>
      <form method="post" action={`${UNSUBSCRIBE}?token=${token}`} aria-label="Turn off">
        <button type="submit">Turn these mails off</button>
      </form>
      <p class="hint">
        You can turn them on again on your account page. Mails about the security of your account are always
        sent.
      </p>
    </SitePage>
  );
}

export function mutedPage({ host, about }: NoticeProps): VNode {
  return (
    <SitePage title="These mails are off" host={host}>
      <p role="status">No more mails about {about} are sent to your account.</p>
      <p>
        Turn them on again on <a href="/account#notices">your account page</a>.
      </p>
    </SitePage>
  );
}

export function unknownLinkPage({ host }: OfHost): VNode {
  return (
    <SitePage title="This link does not work" host={host}>
      <p>It may have been cut off. Copy the whole link from the mail.</p>
      <p>
        You can also choose on <a href="/account#notices">your account page</a> which mails are sent.
      </p>
    </SitePage>
  );
}

const UNKNOWN_LINK = page('the link was not made by this service');

/**
 * Extension of the contract: the page behind the link that turns off mails of one kind. Unlike other links it needs neither
 * cookies nor a form of ours, because mail providers post to it (RFC 8058): its token is enough, and allows nothing else.
 */
@PublicPages(
  'account/unsubscribe',
  {
    show: {
      summary: 'Show the page behind the link that turns off mails of one kind',
      description: 'It changes nothing.',
      query: TOKEN_QUERY,
      answers: { 200: page('the page'), 404: NO_MAIL, 422: UNKNOWN_LINK },
    },
    mute: {
      summary: 'Turn off mails of one kind',
      description:
        'Mail providers post here (RFC 8058): without cookies, with any body or none. It can be repeated, and is answered the same for an account that does not exist any more.',
      query: TOKEN_QUERY,
      answers: { 200: page('these mails are off'), 404: NO_MAIL, 422: UNKNOWN_LINK },
    },
  },
  'the signed link is the credential, and turns off one kind of mail for one account',
)
export class UnsubscribeController {
  constructor(
    private readonly links: UnsubscribeLinks,
    private readonly muted: MutedNotices,
    private readonly configuration: Configuration,
  ) {}

  /** Changes nothing: programs open the links in mails. */
  @Get()
  async show(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.answer(request, reply, (of, host, token) => ({
      content: unsubscribePage({ host, token, about: MUTABLE_NOTICES[of.notice] }),
      formTargets: ["'self'"],
    }));
  }

  /** The body is not read. The answer does not depend on whether the account exists. */
  @Post()
  @HttpCode(200)
  async mute(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.answer(request, reply, async (of, host) => {
      await this.muted.mute(of.userId, of.notice);
      return { content: mutedPage({ host, about: MUTABLE_NOTICES[of.notice] }) };
    });
  }

  private async answer(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (of: Unsubscription, host: string, token: string) => Page | Promise<Page>,
  ): Promise<void> {
    const { hasMail, publicHost: host } = this.configuration;
    if (!hasMail) throw new NotFound('not found');
    const token = Form.ofQuery(request).all('token')[0] ?? '';
    const of = this.links.read(token);
    await sendPage(
      reply,
      of ? await work(of, host, token) : { content: unknownLinkPage({ host }), status: 422 },
    );
  }
}
