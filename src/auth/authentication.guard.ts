import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Database, statement } from '../platform/database/index.js';
import { Unauthorized } from '../platform/http/index.js';
import { ACCESS, type Access, type AuthenticatedRequest, SEES_DELETED_USERS } from './access.js';
import { GeneralLimit } from './general-limit.js';
import { JwtVerifier } from './jwt-verifier.js';
import { PatVerifier } from './pat-verifier.js';
import type { Principal } from './principal.js';

const BEARER = /^Bearer +([\x21-\x7e]+)$/i;

const userExists = statement('auth.user_exists', 'SELECT FROM users WHERE id = $1');

/** First of the global guards: 401, or a Principal on the request. */
@Injectable()
export class AuthenticationGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly jwtVerifier: JwtVerifier,
    private readonly patVerifier: PatVerifier,
    private readonly database: Database,
    private readonly limit: GeneralLimit,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const targets = [context.getHandler(), context.getClass()];
    const access = this.reflector.getAllAndOverride<Access | undefined>(ACCESS, targets);
    if (access?.kind === 'public') return true;

    const seesDeletedUsers = this.reflector.getAllAndOverride<boolean | undefined>(
      SEES_DELETED_USERS,
      targets,
    );
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    try {
      const principal = await this.authenticate(request.headers.authorization);
      if (!seesDeletedUsers && !(await this.userExists(principal.userId))) throw new Unauthorized();
      request.principal = principal;
    } catch (error) {
      // Whoever tries tokens is counted by address: no later guard sees the request.
      if (error instanceof Unauthorized) await this.limit.count({ ip: request.ip });
      throw error;
    }
    return true;
  }

  /** A JWT stands for an interactive session, so it may do everything its user may. @throws Unauthorized */
  private async authenticate(header: string | undefined): Promise<Principal> {
    const token = BEARER.exec(header ?? '')?.[1];
    if (!token) throw new Unauthorized();
    if (token.startsWith('pat_')) return this.patVerifier.verify(token);
    const { userId } = await this.jwtVerifier.verify(token);
    return { userId, scopes: ['full'], tokenId: null, workspaceId: null };
  }

  private async userExists(userId: string): Promise<boolean> {
    return (await this.database.run(userExists, [userId])).length > 0;
  }
}
