import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { isUUID } from 'class-validator';
import {
  ACCESS,
  type Access,
  NAMED_WORKSPACE,
  OWNED_WORKSPACE,
  type Principal,
  REQUIRES_SUBSCRIPTION,
  SEES_DELETED_USERS,
  type SubscriptionRequirement,
  type WorkspaceRequest,
} from './route-access.js';
import { Configuration } from '../platform/config/index.js';
import { afterBody, BadRequest, NotFound } from '../platform/http/index.js';
import { BearerAuthenticator } from './bearer-authenticator.js';
import { ACCESS_CHECKED_IN_STATEMENT } from './workspace-access.filter.js';
import { type AccessRequirements, WorkspaceAccess } from './workspace-access.js';

/** What a route requires of its caller besides the scope. */
interface RouteDemands extends AccessRequirements {
  /** The workspaces that the request names, which must all be the same; undefined if the route needs none. */
  readonly workspaces: readonly string[] | undefined;
}

/**
 * Last of the global guards: 401 when the token's user is gone, or, on interactive routes, the session has ended, 403 when suspended, 402 without a subscription, 404 for anything
 * that is not a workspace of the caller. One read on each request answers all of them, so a change takes effect at once on every
 * instance. On routes with `AccessCheckedInStatement`, the check is left to the statement for callers admitted within the last
 * minute.
 */
@Injectable()
export class WorkspaceAccessGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly configuration: Configuration,
    private readonly workspaceAccess: WorkspaceAccess,
    private readonly authenticator: BearerAuthenticator,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const access = this.find(context, ACCESS) as Access | undefined;
    if (access?.kind === 'public') return true;
    const request = context.switchToHttp().getRequest<WorkspaceRequest>();
    if (access?.kind === 'interactive') await this.requireSession(request);
    const demands = this.demandsOf(context, request);
    const workspaceId = idInReach(demands, request.principal);
    const { userId } = request.principal;
    const caller = { userId, needsSubscription: demands.subscription };
    const isCheckedInStatement = this.find(context, ACCESS_CHECKED_IN_STATEMENT) === true;
    const isExpected =
      isCheckedInStatement &&
      workspaceId !== null &&
      this.workspaceAccess.wasAllowedLately(caller, workspaceId);
    const isOwner = isExpected || (await this.workspaceAccess.check(userId, demands, workspaceId));

    if (!demands.workspaces) return true;
    refuseUnclear(demands.workspaces);
    if (workspaceId === null || !isOwner) throw new NotFound('workspace not found');
    if (isCheckedInStatement && !isExpected) this.workspaceAccess.rememberAllowed(caller, workspaceId);
    request.workspace = { id: workspaceId, caller };
    return true;
  }

  /**
   * Looks the session up before the body and after it, because what an interactive route does may outlive the session. Must run
   * after the rate limit: it costs a statement.
   */
  private async requireSession({ principal, raw }: WorkspaceRequest): Promise<void> {
    await this.authenticator.requireSession(principal);
    afterBody(raw, () => this.authenticator.requireSession(principal));
  }

  private demandsOf(context: ExecutionContext, request: WorkspaceRequest): RouteDemands {
    const requirement = this.find(context, REQUIRES_SUBSCRIPTION) as SubscriptionRequirement | undefined;
    const isExcused = requirement?.unless && request.principal.scopes.includes(requirement.unless);
    const workspaces = this.find(context, NAMED_WORKSPACE) ? namesIn(request) : [request.params.id ?? ''];
    return {
      user: !this.find(context, SEES_DELETED_USERS),
      subscription: requirement !== undefined && !isExcused && this.configuration.hasSubscriptions,
      workspaces: this.find(context, OWNED_WORKSPACE) ? workspaces : undefined,
    };
  }

  private find(context: ExecutionContext, key: string): unknown {
    return this.reflector.getAllAndOverride<unknown>(key, [context.getHandler(), context.getClass()]);
  }
}

/** The id as stored, in lower case; null if it is not a valid id, or if the token is bound to another workspace. */
function idInReach({ workspaces }: RouteDemands, principal: Principal): string | null {
  const id = workspaces?.[0]?.toLowerCase();
  if (id === undefined || !isUUID(id)) return null;
  return principal.workspaceId === null || principal.workspaceId === id ? id : null;
}

function namesIn({ headers, query }: WorkspaceRequest): string[] {
  const named = [headers['x-workspace-id'], query.workspaceId].flat();
  return named.filter((name) => typeof name === 'string' && name !== '').map(String);
}

function refuseUnclear(names: readonly string[]): void {
  const [id] = names;
  if (id === undefined)
    throw new BadRequest('X-Workspace-Id or the query parameter workspaceId must name a workspace');
  if (names.some((name) => name.toLowerCase() !== id.toLowerCase()))
    throw new BadRequest('X-Workspace-Id and the query parameter workspaceId name different workspaces');
}
