import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { AuthenticatedRequest } from '../auth/index.js';
import type { Caller } from './standings.js';

/** The workspace that the standing guard has let the caller into. */
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
