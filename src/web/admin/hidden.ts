import { type ArgumentsHost, Catch, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PageErrorFilter } from '../layout/index.js';
import { isEncodedUtf8, NotFound } from '../../platform/http/index.js';

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
    const { url } = host.switchToHttp().getRequest<FastifyRequest>();
    // A guard refuses such a query before anybody has asked who the caller is.
    const isHidden = error instanceof Hidden || !isEncodedUtf8(url.slice(url.indexOf('?') + 1));
    if (!isHidden) return super.catch(error, host);
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    await reply.status(404).type('application/json').send({ error: 'not found' });
  }
}
