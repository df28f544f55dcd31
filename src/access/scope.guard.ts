import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Forbidden } from '../platform/http/index.js';
import { ACCESS, type Access, type AuthenticatedRequest, type Scope, UNBOUND } from './route-access.js';

/** Whether any of the wanted scopes is granted; `full` grants all. */
export function isGranted(granted: readonly Scope[], wanted: readonly Scope[]): boolean {
  return granted.includes('full') || wanted.some((scope) => granted.includes(scope));
}

/** Answers 403 unless the token has a scope that the route accepts. */
@Injectable()
export class ScopeGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const targets = [context.getHandler(), context.getClass()];
    const access = this.reflector.getAllAndOverride<Access | undefined>(ACCESS, targets);
    if (access?.kind === 'public') return true;

    const { scopes, tokenId, workspaceId } = context
      .switchToHttp()
      .getRequest<AuthenticatedRequest>().principal;
    if (access?.kind !== 'bearer') {
      if (tokenId === null) return true;
      throw new Forbidden('an interactive session is required');
    }
    if (workspaceId !== null && this.reflector.getAllAndOverride<boolean | undefined>(UNBOUND, targets)) {
      throw new Forbidden('the token is bound to a workspace');
    }
    if (isGranted(scopes, access.scopes)) return true;
    throw new Forbidden(`the token lacks the scope ${access.scopes.join(' or ')}`);
  }
}
