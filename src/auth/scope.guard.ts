import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Forbidden } from '../platform/http/index.js';
import { ACCESS, type Access, type AuthenticatedRequest } from './access.js';

/** Second of the global guards: 403 unless the token was granted what the route asks for. */
@Injectable()
export class ScopeGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const targets = [context.getHandler(), context.getClass()];
    const access = this.reflector.getAllAndOverride<Access | undefined>(ACCESS, targets);
    if (access?.kind === 'public') return true;

    const { scopes } = context.switchToHttp().getRequest<AuthenticatedRequest>().principal;
    const wanted = access?.scopes ?? ['full'];
    if (scopes.includes('full') || wanted.some((scope) => scopes.includes(scope))) return true;
    throw new Forbidden(`the token lacks the scope ${wanted.join(' or ')}`);
  }
}
