import {
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
import { NotFound } from '../platform/http/index.js';

const OWNED_WORKSPACE = 'owned-workspace';

/** The route's `:id` is a workspace of the caller; anything else is 404, alike for strangers and for nothing. */
export const OwnedWorkspace = (): MethodDecorator & ClassDecorator => SetMetadata(OWNED_WORKSPACE, true);

/** The workspace that the ownership guard has let the caller into. */
export interface WorkspaceRef {
  readonly id: string;
}

type WorkspaceRequest = AuthenticatedRequest & { workspace: WorkspaceRef; params: { id?: string } };

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
    const workspace = await this.findOwned(request.params.id, request.principal);
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
