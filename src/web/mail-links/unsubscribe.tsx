import { Controller, Get, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { Public } from '../../access/index.js';
import {
  MUTABLE_NOTICES,
  MutedNotices,
  UNSUBSCRIBE,
  UnsubscribeLinks,
  type Unsubscription,
} from '../../domain/accounts/notices/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { Configuration } from '../../platform/config/index.js';
import { NotFound } from '../../platform/http/index.js';
import { Form, Layout, Masthead, type Page, PageErrorFilter, sendPage } from '../layout/index.js';
import { UNSUBSCRIBE_DOCS } from './mail-pages.docs.js';

interface PageProps {
  readonly host: string;
}

interface NoticeProps extends PageProps {
  /** What the mails are about. */
  readonly about: string;
}

/** Names neither the account nor its address: a person who was forwarded the mail learns no more than the mail says. */
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

/**
 * Extension of the contract: the page behind the link that turns off mails of one kind. Unlike other links it needs neither
 * cookies nor a form of ours, because mail providers post to it (RFC 8058): its token is enough, and allows nothing else.
 */
@Controller('account/unsubscribe')
@Documented(UNSUBSCRIBE_DOCS)
@Public('the signed link is the credential, and turns off one kind of mail for one account')
@UseFilters(PageErrorFilter)
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
