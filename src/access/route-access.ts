import { applyDecorators, createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** The scopes of personal access tokens; `full` grants everything; interactive sessions have it. */
export const SCOPES = [
  'full',
  'documents:read',
  'documents:write',
  'agent:invoke',
  'assets:read',
  'assets:write',
] as const;
export type Scope = (typeof SCOPES)[number];

/** The authenticated caller, as proven by the bearer token. */
export interface Principal {
  readonly userId: string;
  readonly scopes: readonly Scope[];
  /** The personal access token; null for the JWT of an interactive session. */
  readonly tokenId: string | null;
  /** The session that the JWT came from; undefined for access tokens. */
  readonly sessionId?: string;
  /** The key that signed the JWT; undefined for access tokens. */
  readonly keyId?: string;
  /** The one workspace that the token is bound to, or null. */
  readonly workspaceId: string | null;
  /** When the token expires; null means never. */
  readonly expiresAt: Date | null;
  /** When the user last gave a password or another factor, according to the JWT; absent for access tokens. */
  readonly authenticatedAt?: Date | null;
}

/** Metadata key of a route's access policy; a route without one is rejected at boot. */
export const ACCESS = 'access';

export type Access =
  | { readonly kind: 'public'; readonly reason: string }
  /** A bearer token with one of the scopes, or with `full`. */
  | { readonly kind: 'bearer'; readonly scopes: readonly Scope[] }
  /** A JWT; no personal access token, whatever its scopes. */
  | { readonly kind: 'interactive' };

/** No bearer token needed; the route has its own checks, named in the reason. */
export const Public = (reason: string): MethodDecorator & ClassDecorator =>
  SetMetadata<string, Access>(ACCESS, { kind: 'public', reason });

/** Any one of the scopes is enough; `full` always is. */
export const Scopes = (...scopes: [Scope, ...Scope[]]): MethodDecorator & ClassDecorator =>
  SetMetadata<string, Access>(ACCESS, { kind: 'bearer', scopes });

export const Interactive = (): MethodDecorator & ClassDecorator =>
  SetMetadata<string, Access>(ACCESS, { kind: 'interactive' });

export const UNBOUND = 'unbound';

/** The route affects more than one workspace, so a token bound to a workspace gets 403. */
export const Unbound = (): MethodDecorator & ClassDecorator => SetMetadata(UNBOUND, true);

export const BOUND_TOKENS_TOO = 'bound-tokens-too';

/**
 * The route names no workspace that a guard could compare with the token's, but accepts tokens bound to a workspace. A bearer
 * route that names no workspace needs this or `Unbound`, or is rejected at boot.
 * @param reason why such a token cannot reach anything there that it should not
 */
export const BoundTokensToo = (reason: string): MethodDecorator & ClassDecorator =>
  SetMetadata(BOUND_TOKENS_TOO, reason);

export const SEES_DELETED_USERS = 'sees-deleted-users';

/** The route also serves a token whose user is deleted; other routes answer 401. */
export const SeesDeletedUsers = (): MethodDecorator & ClassDecorator => SetMetadata(SEES_DELETED_USERS, true);

export const REQUIRES_SUBSCRIPTION = 'requires-subscription';

export interface SubscriptionRequirement {
  readonly unless?: Scope;
}

/**
 * The route needs an active subscription (402 otherwise).
 * @param unless a token that was granted this scope by name needs none; `full` does not count as granted by name
 */
export const RequiresSubscription = (unless?: Scope): MethodDecorator & ClassDecorator =>
  SetMetadata(REQUIRES_SUBSCRIPTION, { unless } satisfies SubscriptionRequirement);

export const OWNED_WORKSPACE = 'owned-workspace';
export const NAMED_WORKSPACE = 'named-workspace';

/** The route's `:id` must be a workspace of the caller; otherwise 404, whether it belongs to another user or does not exist. */
export const OwnedWorkspace = (): MethodDecorator & ClassDecorator => SetMetadata(OWNED_WORKSPACE, true);

/**
 * Like `OwnedWorkspace`, for a route whose path does not name the workspace: the header `X-Workspace-Id` or the query parameter
 * `workspaceId` does. 400 if both are missing, or if they differ.
 */
export const NamedWorkspace = (): MethodDecorator & ClassDecorator =>
  applyDecorators(OwnedWorkspace(), SetMetadata(NAMED_WORKSPACE, true));

export const UNLIMITED = 'unlimited';

/** The route is exempt from the rate limit and from the limit of concurrent requests. */
export const Unlimited = (): MethodDecorator & ClassDecorator => SetMetadata(UNLIMITED, true);

export const TRANSFER = 'transfer';

/** The route uploads or downloads one file: it counts against a separate limit, which a first sync does not reach. */
export const Transfer = (): MethodDecorator & ClassDecorator => SetMetadata(TRANSFER, true);

/** A request to which the authentication guard has added its principal. */
export type AuthenticatedRequest = FastifyRequest & { principal: Principal };

export const CurrentPrincipal = createParamDecorator(
  (_: unknown, context: ExecutionContext): Principal =>
    context.switchToHttp().getRequest<AuthenticatedRequest>().principal,
);

/** The caller of a workspace operation: what a statement needs to check access by itself. */
export interface Caller {
  readonly userId: string;
  readonly needsSubscription: boolean;
}

/** The workspace to which the workspace access guard has admitted the caller. */
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
