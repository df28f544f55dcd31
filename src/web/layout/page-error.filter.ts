import { type ArgumentsHost, Catch, type ExceptionFilter, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Configuration } from '../../platform/config/index.js';
import { errorAnswer } from '../../platform/http/index.js';
import { Log } from '../../platform/log/index.js';
import { errorPage } from './error-page.js';
import { sendPage } from './page.js';

/** Errors of browser routes: the status that the API would answer, as a page. */
@Catch()
@Injectable()
export class PageErrorFilter implements ExceptionFilter {
  constructor(
    private readonly configuration: Configuration,
    private readonly log: Log,
  ) {}

  async catch(error: unknown, host: ArgumentsHost): Promise<void> {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const { status, headers, body } = errorAnswer(error, request.id, this.log);
    if (reply.sent) return;
    const content = errorPage({
      host: this.configuration.publicHost,
      status,
      detail: String(body.error),
      requestId: request.id,
      retryAfter: headers['retry-after'],
    });
    await sendPage(reply, { status, headers, content });
  }
}
