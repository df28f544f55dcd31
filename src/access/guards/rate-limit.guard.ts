import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply } from 'fastify';
import { type AuthenticatedRequest, TRANSFER, UNLIMITED } from '../index.js';
import { GeneralLimit } from './general-limit.js';
import { RequestsAtOnce } from './requests-at-once.js';

/** 429. Who has no valid token is counted by `AuthenticationGuard`. */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly limit: GeneralLimit,
    private readonly atOnce: RequestsAtOnce,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const targets = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride<boolean | undefined>(UNLIMITED, targets)) return true;
    const http = context.switchToHttp();
    const request = http.getRequest<Partial<AuthenticatedRequest> & { ip: string }>();
    const client = request.principal ?? request;
    const isTransfer = this.reflector.getAllAndOverride<boolean | undefined>(TRANSFER, targets);
    await (isTransfer ? this.limit.countTransfer(client) : this.limit.count(client));
    this.atOnce.enter(client, http.getResponse<FastifyReply>().raw);
    return true;
  }
}
