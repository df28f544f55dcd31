import {
  applyDecorators,
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  SetMetadata,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { isUUID } from 'class-validator';
import type { AuthenticatedRequest, Principal } from '../auth/index.js';
import { Database, statement } from '../platform/database/index.js';
import { BadRequest, NotFound } from '../platform/http/index.js';

const OWNED_WORKSPACE = 'owned-workspace';
const NAMED_WORKSPACE = 'named-workspace';

/** The route's `:id` is a workspace of the caller; anything else is 404, alike for strangers and for nothing. */
export const OwnedWorkspace = (): MethodDecorator & ClassDecorator => SetMetadata(OWNED_WORKSPACE, true);

/**
 * The same for a route whose path does not name the workspace: header `X-Workspace-Id` or query `workspaceId` does. None
 * of them, or two that differ, is 400.
 */
export const NamedWorkspace = (): MethodDecorator & ClassDecorator =>
  applyDecorators(OwnedWorkspace(), SetMetadata(NAMED_WORKSPACE, true));

/** The workspace that the ownership guard has let the caller into. */
export interface WorkspaceRef {
  readonly id: string;
}

type WorkspaceRequest = AuthenticatedRequest & {
  workspace: WorkspaceRef;
  params: { id?: string };
  query: { workspaceId?: unknown };
};

export const CurrentWorkspace = createParamDecorator(
  (_: unknown, context: ExecutionContext): WorkspaceRef =>
    context.switchToHttp().getRequest<WorkspaceRequest>().workspace,
);

const owned = statement(
  'workspaces.owned',
  'SELECT id FROM workspaces WHERE id = $1 AND user_id = $2 AND deleted_at IS NULL',
);

/** Last of the global guards. */
@Injectable()
export class OwnershipGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly database: Database,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const targets = [context.getHandler(), context.getClass()];
    if (!this.reflector.getAllAndOverride<boolean | undefined>(OWNED_WORKSPACE, targets)) return true;

    const request = context.switchToHttp().getRequest<WorkspaceRequest>();
    const isNamed = this.reflector.getAllAndOverride<boolean | undefined>(NAMED_WORKSPACE, targets);
    const id = isNamed ? workspaceNamedIn(request) : request.params.id;
    const workspace = await this.findOwned(id, request.principal);
    if (!workspace) throw new NotFound('workspace not found');
    request.workspace = workspace;
    return true;
  }

  private async findOwned(id: string | undefined, principal: Principal): Promise<WorkspaceRef | undefined> {
    if (id === undefined || !isUUID(id)) return undefined;
    if (principal.workspaceId !== null && principal.workspaceId !== id.toLowerCase()) return undefined;
    const [workspace] = await this.database.run<WorkspaceRef>(owned, [id, principal.userId]);
    return workspace;
  }
}

function workspaceNamedIn({ headers, query }: WorkspaceRequest): string {
  const named = [headers['x-workspace-id'], query.workspaceId].flat();
  const names = named.filter((name) => typeof name === 'string' && name !== '').map(String);
  const [id] = names;
  if (id === undefined) throw new BadRequest('X-Workspace-Id or the query workspaceId must name a workspace');
  if (names.some((name) => name.toLowerCase() !== id.toLowerCase()))
    throw new BadRequest('X-Workspace-Id and the query workspaceId name different workspaces');
  return id;
}
