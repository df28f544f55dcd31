import { applyDecorators, createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Principal, Scope } from './principal.js';

/** Access is data on the route: a route without one of these is refused at boot. */
export const ACCESS = 'access';

export type Access =
  | { readonly kind: 'public'; readonly reason: string }
  /** A bearer that was granted one of the scopes, or everything. */
  | { readonly kind: 'bearer'; readonly scopes: readonly Scope[] }
  /** A JWT; no personal access token, whatever it was granted. */
  | { readonly kind: 'interactive' };

/** No bearer; the route has its own checks, named in the reason. */
export const Public = (reason: string): MethodDecorator & ClassDecorator =>
  SetMetadata<string, Access>(ACCESS, { kind: 'public', reason });

/** Any one of the scopes opens the route; `full` always does. */
export const Scopes = (...scopes: [Scope, ...Scope[]]): MethodDecorator & ClassDecorator =>
  SetMetadata<string, Access>(ACCESS, { kind: 'bearer', scopes });

export const Interactive = (): MethodDecorator & ClassDecorator =>
  SetMetadata<string, Access>(ACCESS, { kind: 'interactive' });

export const UNBOUND = 'unbound';

/** The route reaches beyond any one workspace, so a token that is bound to one gets 403. */
export const Unbound = (): MethodDecorator & ClassDecorator => SetMetadata(UNBOUND, true);

export const BOUND_TOKENS_TOO = 'bound-tokens-too';

/**
 * The route names no workspace that a guard could hold the token to, and is open to a token that is bound to one all the
 * same. A bearer's route that names none has this or `Unbound`, or is refused at boot.
 * @param reason why such a token reaches nothing there that it should not
 */
export const BoundTokensToo = (reason: string): MethodDecorator & ClassDecorator =>
  SetMetadata(BOUND_TOKENS_TOO, reason);

export const SEES_DELETED_USERS = 'sees-deleted-users';

/** The route answers also when the token's user is gone (everywhere else that is 401). */
export const SeesDeletedUsers = (): MethodDecorator & ClassDecorator =>
  applyDecorators(SetMetadata(SEES_DELETED_USERS, true));

/** A request on which the authentication guard has put its principal. */
export type AuthenticatedRequest = FastifyRequest & { principal: Principal };

export const CurrentPrincipal = createParamDecorator(
  (_: unknown, context: ExecutionContext): Principal =>
    context.switchToHttp().getRequest<AuthenticatedRequest>().principal,
);
