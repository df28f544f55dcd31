import { type ArgumentsHost, Catch, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { PageErrorFilter } from '../pages/index.js';
import { NotFound } from '../platform/http/index.js';

/** The answer to everybody who is no administrator: that of an address where nothing is. */
export class Hidden extends NotFound {
  constructor() {
    super('not found');
  }
}

/** Errors of the admin page, as pages; what is hidden is answered as an unknown address is. */
@Catch()
@Injectable()
export class AdminErrorFilter extends PageErrorFilter {
  override async catch(error: unknown, host: ArgumentsHost): Promise<void> {
    if (!(error instanceof Hidden)) return super.catch(error, host);
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    await reply.status(404).type('application/json').send({ error: error.message });
  }
}
