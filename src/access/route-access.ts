import { applyDecorators, createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** What a personal access token may be granted; `full` is everything, and what an interactive session has. */
export const SCOPES = [
  'full',
  'documents:read',
  'documents:write',
  'agent:invoke',
  'assets:read',
  'assets:write',
] as const;
export type Scope = (typeof SCOPES)[number];

/** Who makes a request, as the bearer token proves it. */
export interface Principal {
  readonly userId: string;
  readonly scopes: readonly Scope[];
  /** The personal access token; null for an interactive session's JWT. */
  readonly tokenId: string | null;
  /** The key that signed the JWT; undefined where there is none. */
  readonly keyId?: string;
  /** The one workspace that the token is bound to; null when it is not bound. */
  readonly workspaceId: string | null;
  /** When the token ends by itself; null: never. */
  readonly expiresAt: Date | null;
}

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

export const REQUIRES_SUBSCRIPTION = 'requires-subscription';

export interface SubscriptionRequirement {
  readonly unless?: Scope;
}

/**
 * The route needs an active subscription (402 otherwise).
 * @param unless a token to which this scope was given by name needs none; `full` is not by name
 */
export const RequiresSubscription = (unless?: Scope): MethodDecorator & ClassDecorator =>
  SetMetadata(REQUIRES_SUBSCRIPTION, { unless } satisfies SubscriptionRequirement);

export const OWNED_WORKSPACE = 'owned-workspace';
export const NAMED_WORKSPACE = 'named-workspace';

/** The route's `:id` is a workspace of the caller; anything else is 404, alike for strangers and for nothing. */
export const OwnedWorkspace = (): MethodDecorator & ClassDecorator => SetMetadata(OWNED_WORKSPACE, true);

/**
 * The same for a route whose path does not name the workspace: header `X-Workspace-Id` or query `workspaceId` does. None
 * of them, or two that differ, is 400.
 */
export const NamedWorkspace = (): MethodDecorator & ClassDecorator =>
  applyDecorators(OwnedWorkspace(), SetMetadata(NAMED_WORKSPACE, true));

export const UNLIMITED = 'unlimited';

/** The route is never refused for being asked too often, or by too many at once. */
export const Unlimited = (): MethodDecorator & ClassDecorator => SetMetadata(UNLIMITED, true);

export const TRANSFER = 'transfer';

/** The route sends or takes in one file: it is counted with its like, whose limit a first sync does not reach. */
export const Transfer = (): MethodDecorator & ClassDecorator => SetMetadata(TRANSFER, true);

/** A request on which the authentication guard has put its principal. */
export type AuthenticatedRequest = FastifyRequest & { principal: Principal };

export const CurrentPrincipal = createParamDecorator(
  (_: unknown, context: ExecutionContext): Principal =>
    context.switchToHttp().getRequest<AuthenticatedRequest>().principal,
);

/** Who asks for something in a workspace: what a statement needs to check access by itself. */
export interface Caller {
  readonly userId: string;
  readonly needsSubscription: boolean;
}

/** The workspace that the workspace access guard has let the caller into. */
export interface WorkspaceRef {
  readonly id: string;
  readonly caller: Caller;
}

export type WorkspaceRequest = AuthenticatedRequest & {
  workspace: WorkspaceRef;
  params: { id?: string };
  query: { workspaceId?: unknown };
};

export const CurrentWorkspace = createParamDecorator(
  (_: unknown, context: ExecutionContext): WorkspaceRef =>
    context.switchToHttp().getRequest<WorkspaceRequest>().workspace,
);
