import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { AuthenticatedRequest } from '../auth/index.js';
import { type Caller, callerKey } from './standings.js';

/** The workspace that the standing guard has let the caller into. */
export interface WorkspaceRef {
  readonly id: string;
  readonly caller: Caller;
}

/** Requests with the same key have the same access to the same workspace, and may be answered together. */
export const accessKey = ({ id, caller }: WorkspaceRef): string => `${id} ${callerKey(caller)}`;

export type WorkspaceRequest = AuthenticatedRequest & {
  workspace: WorkspaceRef;
  params: { id?: string };
  query: { workspaceId?: unknown };
};

export const CurrentWorkspace = createParamDecorator(
  (_: unknown, context: ExecutionContext): WorkspaceRef =>
    context.switchToHttp().getRequest<WorkspaceRequest>().workspace,
);
