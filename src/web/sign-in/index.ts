import { Get, HttpCode, Module, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AuthModule, ONE_TIME_TOKEN_MINUTES } from '../../domain/auth/index.js';
import { page, type Parameters } from '../../platform/api-docs/index.js';
import { Clock } from '../../platform/clock.js';
import { Configuration } from '../../platform/config/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch.js';
import {
  ANSWERED,
  Form,
  formDocs,
  ONWARDS,
  PagesModule,
  PublicPages,
  redirect,
  sendPage,
  SUSPENDED,
} from '../layout/index.js';
import { openAppPage } from './handoff.js';
import { Handoff } from './handoff.service.js';
import { SingleSignOnController } from './single-sign-on.js';
import { Targets, withToken } from './targets.js';

const STATE: Parameters = {
  client_state: {
    description:
      'A random value from the client: 16 to 512 characters of `A-Z a-z 0-9 _ -`. It is returned with the token.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{16,512}$' },
    isRequired: true,
  },
};

const ASKED = { 200: page('the page'), 400: 'the link is invalid', 403: SUSPENDED };

/** Signs a web editor in: the browser is redirected to the editor's callback. */
@PublicPages('auth/web-handoff', {
  ask: {
    summary: 'Show the sign-in page for a web editor',
    query: {
      ...STATE,
      return_to: { description: 'One of the configured callbacks, compared exactly.', isRequired: true },
    },
    answers: ASKED,
  },
  answer: formDocs('Submit the sign-in form for a web editor', {
    200: page('the page asks for a code of the second factor'),
    303: { ...ONWARDS, description: 'a redirect to `return_to?token=…&client_state=…`' },
    ...ANSWERED,
  }),
})
export class WebHandoffController {
  constructor(
    private readonly handoff: Handoff,
    private readonly targets: Targets,
  ) {}

  @Get()
  async ask(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const target = this.targets.web(Form.ofQuery(request));
    await sendPage(reply, await this.handoff.ask(request, target));
  }

  @Post()
  @OpenWhenReadOnly('signs in; sign-up is refused at its write')
  async answer(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const form = await Form.read(request);
    const target = this.targets.web(form);
    const answer = await this.handoff.answer(request, target, form);
    if ('content' in answer) return sendPage(reply, answer);
    await redirect(reply, withToken(target, answer.token), answer.cookies);
  }
}

/** Signs the desktop app in: a deep link leads from the browser to the app. */
@PublicPages('auth/desktop-handoff', {
  ask: {
    summary: 'Show the sign-in page for the desktop app',
    description: 'The page signs the user in and returns to the app with a one-time token.',
    query: {
      ...STATE,
      scheme: {
        description: 'The URL scheme of the app, if it is not the default one: `APP_SCHEME-APP_NAME`.',
      },
    },
    answers: ASKED,
  },
  answer: formDocs('Submit the sign-in form for the desktop app', {
    200: page(
      'a page with a link to the app: `<scheme>://auth/callback?token=…&client_state=…`; or the page asks for a code of the second factor',
    ),
    ...ANSWERED,
  }),
})
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
    await sendPage(reply, await this.handoff.ask(request, target));
  }

  @Post()
  @HttpCode(200)
  @OpenWhenReadOnly('signs in; sign-up is refused at its write')
  async answer(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const form = await Form.read(request);
    const target = this.targets.desktop(form);
    const answer = await this.handoff.answer(request, target, form);
    if ('content' in answer) return sendPage(reply, answer);
    const { publicHost: host } = this.configuration;
    const expiresAt = new Date(this.clock.now().getTime() + ONE_TIME_TOKEN_MINUTES * 60_000);
    const content = openAppPage({ host, target, token: answer.token, expiresAt });
    await sendPage(reply, { content, cookies: answer.cookies });
  }
}

/** The handoff to desktop apps and web editors: a page signs the user in and returns to the client with a one-time token. */
@Module({
  imports: [AuthModule, PagesModule],
  controllers: [DesktopHandoffController, WebHandoffController, SingleSignOnController],
  providers: [Handoff, Targets],
})
export class SignInPagesModule {}
