import { Controller, Get, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { Form, PageErrorFilter, redirect, sendPage } from '../layout/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { WEB_HANDOFF_DOCS } from './sign-in-pages.docs.js';
import { Handoff } from './handoff.service.js';
import { Targets, withToken } from './targets.js';

/** Signs a web editor in: the browser is redirected to the editor's callback. */
@Controller('auth/web-handoff')
@Documented(WEB_HANDOFF_DOCS)
@Public('the page has its own session, cookie, origin and form checks')
@UseFilters(PageErrorFilter)
export class WebHandoffController {
  constructor(
    private readonly handoff: Handoff,
    private readonly targets: Targets,
  ) {}

  @Get()
  async ask(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const target = this.targets.web(Form.ofQuery(request));
    await sendPage(reply, await this.handoff.ask(request, 'web', target));
  }

  @Post()
  @OpenWhenReadOnly('signs in; sign-up is refused at its write')
  async answer(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const form = await Form.read(request);
    const target = this.targets.web(form);
    const answer = await this.handoff.answer(request, 'web', target, form);
    if ('content' in answer) return sendPage(reply, answer);
    await redirect(reply, withToken(target, answer.token), answer.cookies);
  }
}
