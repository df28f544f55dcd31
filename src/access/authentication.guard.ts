import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { afterBody, Unauthorized } from '../platform/http/index.js';
import { requestScope } from '../platform/log/index.js';
import { ACCESS, type Access, type AuthenticatedRequest } from './route-access.js';
import { AccountSuspended, BearerAuthenticator } from './bearer-authenticator.js';
import { GeneralLimit } from './general-limit.js';

const BEARER = /^Bearer +([\x21-\x7e]+)$/i;

/** The token of an Authorization header; undefined without one, and when it is malformed. */
export const bearerIn = (authorization: string | undefined): string | undefined =>
  BEARER.exec(authorization ?? '')?.[1];

/**
 * Adds a Principal to the request, or answers 401, or 403 for the access token of a suspended user. Whether a JWT's user still
 * exists and is not suspended is checked by the last guard.
 */
@Injectable()
export class AuthenticationGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly authenticator: BearerAuthenticator,
    private readonly limit: GeneralLimit,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const targets = [context.getHandler(), context.getClass()];
    const access = this.reflector.getAllAndOverride<Access | undefined>(ACCESS, targets);
    if (access?.kind === 'public') return true;

    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    try {
      const token = bearerIn(request.headers.authorization);
      if (!token) throw new Unauthorized();
      request.principal = await this.authenticator.verify(token);
      const scope = requestScope.getStore();
      if (scope) scope.userId = request.principal.userId;
      afterBody(request.raw, this.authenticator.recheck(request.principal));
    } catch (error) {
      // Counted by address: no later guard sees the request.
      if (error instanceof Unauthorized || error instanceof AccountSuspended)
        await this.limit.count({ ip: request.ip });
      throw error;
    }
    return true;
  }
}
