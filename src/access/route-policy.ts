import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { DiscoveryService, Reflector } from '@nestjs/core';
import { type ControllerClass, routesOf } from '../platform/api-docs/index.js';
import { declared, Forbidden } from '../platform/http/index.js';
import {
  ACCESS,
  type Access,
  type AuthenticatedRequest,
  BOUND_TOKENS_TOO,
  OWNED_WORKSPACE,
  type Scope,
  UNBOUND,
} from './route-access.js';

/** Whether any of the wanted scopes is granted; `full` grants all. */
export function isGranted(granted: readonly Scope[], wanted: readonly Scope[]): boolean {
  return granted.includes('full') || wanted.some((scope) => granted.includes(scope));
}

/** Answers 403 unless the token has a scope that the route accepts. */
@Injectable()
export class ScopeGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const access = declared(context, ACCESS) as Access | undefined;
    if (access?.kind === 'public') return true;

    const { scopes, tokenId, workspaceId } = context
      .switchToHttp()
      .getRequest<AuthenticatedRequest>().principal;
    if (access?.kind !== 'bearer') {
      if (tokenId === null) return true;
      throw new Forbidden('an interactive session is required');
    }
    if (workspaceId !== null && declared(context, UNBOUND))
      throw new Forbidden('the token is bound to a workspace');
    if (isGranted(scopes, access.scopes)) return true;
    throw new Forbidden(`the token lacks the scope ${access.scopes.join(' or ')}`);
  }
}

interface Handler {
  readonly name: string;
  /** The metadata of the handler or its controller; undefined when neither declares it. */
  readonly declared: (key: string) => unknown;
}

/**
 * Denies by default: start-up fails for a handler without an access policy, and for a bearer route that names no workspace and
 * does not declare how it treats tokens bound to a workspace.
 */
@Injectable()
export class RouteAccessCheck implements OnApplicationBootstrap {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly reflector: Reflector,
  ) {}

  onApplicationBootstrap(): void {
    const handlers = this.handlers();
    const open = handlers.filter(({ declared }) => !declared(ACCESS));
    if (open.length > 0) throw new Error(`Routes without an access policy: ${namesOf(open)}`);
    const unclear = handlers.filter(isUnclear);
    if (unclear.length > 0)
      throw new Error(
        `Routes that do not declare how they treat tokens bound to a workspace: ${namesOf(unclear)}`,
      );
  }

  private handlers(): Handler[] {
    return this.discovery.getControllers().flatMap(({ metatype }) => {
      if (!metatype) return [];
      return routesOf(metatype as ControllerClass).map(({ name, handler }) => ({
        name: `${metatype.name}.${name}`,
        declared: (key: string) =>
          this.reflector.getAllAndOverride<unknown>(key, [handler, metatype as never]),
      }));
    });
  }
}

const namesOf = (handlers: readonly Handler[]): string => handlers.map(({ name }) => name).join(', ');

/** On routes with `OwnedWorkspace`, `WorkspaceAccessGuard` compares a bound token with the workspace. */
const isUnclear = ({ declared }: Handler): boolean =>
  (declared(ACCESS) as Access).kind === 'bearer' &&
  ![UNBOUND, BOUND_TOKENS_TOO, OWNED_WORKSPACE].some(declared);
