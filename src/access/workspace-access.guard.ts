import {
  applyDecorators,
  type ArgumentsHost,
  type CanActivate,
  Catch,
  type ExecutionContext,
  Injectable,
  SetMetadata,
  UseFilters,
} from '@nestjs/common';
import { isUUID } from 'class-validator';
import type { FastifyReply } from 'fastify';
import { Configuration } from '../platform/config/index.js';
import {
  afterBody,
  ApiError,
  BadRequest,
  declared,
  ErrorFilter,
  NoRoom,
  NotFound,
  RequestTimeout,
  ServiceUnavailable,
} from '../platform/http/index.js';
import { Log } from '../platform/log.js';
import { BearerAuthenticator } from './authentication.guard.js';
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
import { type AccessRequirements, WorkspaceAccess, WorkspaceClosed } from './workspace-access.js';

/**
 * For routes whose statement checks access: checks access again before answering an error, so that 401, 402 and 404 take
 * precedence as on other routes. Skips that check for a temporary 503 or a 408, where a read would only add load, and for clients
 * that have disconnected: a thousand slow clients may do so at once.
 */
@Catch()
@Injectable()
export class WorkspaceAccessFilter extends ErrorFilter {
  constructor(
    log: Log,
    private readonly workspaceAccess: WorkspaceAccess,
  ) {
    super(log);
  }

  override catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const { workspace } = http.getRequest<Partial<WorkspaceRequest>>();
    const isReceived = !http.getResponse<FastifyReply>().raw.destroyed;
    if (!workspace || !isReceived || !isOfRequest(error)) {
      super.catch(error, host);
      return;
    }
    void this.workspaceAccess.confirm(workspace.caller, workspace.id).then(
      () => super.catch(error, host),
      (lapsed: unknown) => super.catch(lapsed, host),
    );
  }
}

const isOfRequest = (error: unknown): boolean =>
  error instanceof WorkspaceClosed ||
  error instanceof NoRoom ||
  (error instanceof ApiError && !(error instanceof ServiceUnavailable || error instanceof RequestTimeout));

export const ACCESS_CHECKED_IN_STATEMENT = 'access-checked-in-statement';

/**
 * The statement that does the route's work checks by itself whether the workspace is open to the caller (`accessCondition`);
 * callers admitted within the last minute skip the guard's own read. Danger: every statement of such a route must check access.
 */
export const AccessCheckedInStatement = (): MethodDecorator & ClassDecorator =>
  applyDecorators(SetMetadata(ACCESS_CHECKED_IN_STATEMENT, true), UseFilters(WorkspaceAccessFilter));

/** What a route requires of its caller besides the scope. */
interface RouteDemands extends AccessRequirements {
  /** The workspaces that the request names, which must all be the same; undefined if the route needs none. */
  readonly workspaces: readonly string[] | undefined;
}

/**
 * The last access check. 401 when the token's user is deleted or, on interactive routes, the session has ended; 403 when the user
 * is suspended; 402 without a subscription; 404 unless the workspace belongs to the caller. Each request reads the current state,
 * so a change takes effect at once on every instance; only on routes with `AccessCheckedInStatement` is the check left to the
 * statement, for callers admitted within the last minute.
 */
@Injectable()
export class WorkspaceAccessGuard implements CanActivate {
  constructor(
    private readonly configuration: Configuration,
    private readonly workspaceAccess: WorkspaceAccess,
    private readonly authenticator: BearerAuthenticator,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const access = declared(context, ACCESS) as Access | undefined;
    if (access?.kind === 'public') return true;
    const request = context.switchToHttp().getRequest<WorkspaceRequest>();
    if (access?.kind === 'interactive') await this.requireSession(request);
    const demands = this.demandsOf(context, request);
    const workspaceId = idInReach(demands, request.principal);
    const { userId } = request.principal;
    const caller = { userId, needsSubscription: demands.subscription };
    const isCheckedInStatement = declared(context, ACCESS_CHECKED_IN_STATEMENT) === true;
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
   * Checks the session before and after the body, because the effect of an interactive route may outlive the session. Must run
   * after the rate limit: it costs a statement.
   */
  private async requireSession({ principal, raw }: WorkspaceRequest): Promise<void> {
    await this.authenticator.requireSession(principal);
    afterBody(raw, () => this.authenticator.requireSession(principal));
  }

  private demandsOf(context: ExecutionContext, request: WorkspaceRequest): RouteDemands {
    const requirement = declared(context, REQUIRES_SUBSCRIPTION) as SubscriptionRequirement | undefined;
    const isExcused = requirement?.unless && request.principal.scopes.includes(requirement.unless);
    const workspaces = declared(context, NAMED_WORKSPACE) ? namesIn(request) : [request.params.id ?? ''];
    return {
      user: !declared(context, SEES_DELETED_USERS),
      subscription: requirement !== undefined && !isExcused && this.configuration.hasSubscriptions,
      workspaces: declared(context, OWNED_WORKSPACE) ? workspaces : undefined,
    };
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
