import { Controller, Get, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { Configuration } from '../../platform/config/index.js';
import { MUTABLE_NOTICES, MutedNotices, UnsubscribeLinks, type Unsubscription } from '../../domain/accounts/notices/index.js';
import { Form, type Page, PageErrorFilter, sendPage } from '../layout/index.js';
import { NotFound } from '../../platform/http/index.js';
import { UNSUBSCRIBE_DOCS } from './mail-pages.docs.js';
import { mutedPage, unknownLinkPage, unsubscribePage } from './unsubscribe-page.js';

/**
 * Extension of the contract: the page behind the link that turns off mails of one kind. Unlike other links it needs neither cookies
 * nor a form of ours, because mail providers post to it (RFC 8058): its token is all that a request needs, and allows nothing else.
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

  /** The body is not read, whatever it is. The answer does not depend on whether the account exists. */
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
