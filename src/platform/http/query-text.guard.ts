import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { BadRequest } from './api-errors.js';
import { isEncodedUtf8 } from './text.js';

/** 400 for a query that is not UTF-8, after all that is asked of the caller. The router itself refuses such a path. */
@Injectable()
export class QueryTextGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { url } = context.switchToHttp().getRequest<FastifyRequest>();
    const start = url.indexOf('?');
    if (start >= 0 && !isEncodedUtf8(url.slice(start + 1))) throw new BadRequest('the query is not UTF-8');
    return true;
  }
}
