import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Configuration } from '../config/index.js';
import { addressKey, Forbidden } from '../platform/http/index.js';
import { RateLimiter } from '../platform/limits/index.js';
import { equalSecrets } from './equal-secrets.js';

const TRIES_PER_MINUTE = 10;

/** 403 unless the key is configured and the header carries it. */
@Injectable()
export class DevLoginGuard implements CanActivate {
  constructor(
    private readonly configuration: Configuration,
    private readonly rateLimiter: RateLimiter,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const { devLoginKey } = this.configuration;
    if (!devLoginKey) throw new Forbidden('dev-login is not enabled');

    await this.rateLimiter.hit(`dev-login:${addressKey(request.ip)}`, TRIES_PER_MINUTE);
    const key = request.headers['x-dev-login-key'];
    if (typeof key !== 'string' || !equalSecrets(key, devLoginKey))
      throw new Forbidden('wrong dev-login key');
    return true;
  }
}
