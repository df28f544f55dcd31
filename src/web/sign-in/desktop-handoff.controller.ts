import { Controller, Get, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../../access/index.js';
import { ONE_TIME_TOKEN_MINUTES } from '../../domain/auth/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { Clock } from '../../platform/clock.js';
import { Configuration } from '../../platform/config/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch.js';
import { Form, PageErrorFilter, redirect, sendPage } from '../layout/index.js';
import { openAppPage } from './handoff.js';
import { Handoff } from './handoff.service.js';
import { DESKTOP_HANDOFF_DOCS, WEB_HANDOFF_DOCS } from './sign-in-pages.docs.js';
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

/** Signs the desktop app in: a deep link leads from the browser to the app. */
@Controller('auth/desktop-handoff')
@Documented(DESKTOP_HANDOFF_DOCS)
@Public('the page has its own session, cookie, origin and form checks')
@UseFilters(PageErrorFilter)
export class DesktopHandoffController {
  constructor(
    private readonly handoff: Handoff,
    private readonly targets: Targets,
    private readonly configuration: Configuration,
    private readonly clock: Clock,
  ) {}

  @Get()
  async ask(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const target = this.targets.desktop(Form.ofQuery(request));
    await sendPage(reply, await this.handoff.ask(request, 'desktop', target));
  }

  @Post()
  @HttpCode(200)
  @OpenWhenReadOnly('signs in; sign-up is refused at its write')
  async answer(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const form = await Form.read(request);
    const target = this.targets.desktop(form);
    const answer = await this.handoff.answer(request, 'desktop', target, form);
    if ('content' in answer) return sendPage(reply, answer);
    const { publicHost: host } = this.configuration;
    const expiresAt = new Date(this.clock.now().getTime() + ONE_TIME_TOKEN_MINUTES * 60_000);
    const content = openAppPage({ host, target, token: answer.token, expiresAt });
    await sendPage(reply, { content, cookies: answer.cookies });
  }
}
