import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Database, statement } from '../platform/database/index.js';
import { Unauthorized } from '../platform/http/index.js';
import { ACCESS, type Access, type AuthenticatedRequest, SEES_DELETED_USERS } from './access.js';
import { JwtVerifier } from './jwt-verifier.js';
import type { Principal } from './principal.js';

const BEARER = /^Bearer +([\x21-\x7e]+)$/i;

const userExists = statement('auth.user_exists', 'SELECT FROM users WHERE id = $1');

/** First of the global guards: 401, or a Principal on the request. */
@Injectable()
export class AuthenticationGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly jwtVerifier: JwtVerifier,
    private readonly database: Database,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const targets = [context.getHandler(), context.getClass()];
    const access = this.reflector.getAllAndOverride<Access | undefined>(ACCESS, targets);
    if (access?.kind === 'public') return true;

    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    const token = BEARER.exec(request.headers.authorization ?? '')?.[1];
    if (!token) throw new Unauthorized();

    request.principal = await this.authenticate(token);
    const seesDeletedUsers = this.reflector.getAllAndOverride<boolean | undefined>(
      SEES_DELETED_USERS,
      targets,
    );
    if (!seesDeletedUsers && !(await this.userExists(request.principal.userId))) throw new Unauthorized();
    return true;
  }

  /** A JWT stands for an interactive session, so it may do everything its user may. */
  private async authenticate(token: string): Promise<Principal> {
    const { userId } = await this.jwtVerifier.verify(token);
    return { userId, scopes: ['full'] };
  }

  private async userExists(userId: string): Promise<boolean> {
    return (await this.database.run(userExists, [userId])).length > 0;
  }
}
