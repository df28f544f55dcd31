import {
  applyDecorators,
  type ArgumentsHost,
  Catch,
  Injectable,
  SetMetadata,
  UseFilters,
} from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import {
  ApiError,
  ErrorFilter,
  NoRoom,
  RequestTimeout,
  ServiceUnavailable,
} from '../platform/http/index.js';
import { Log } from '../platform/log/index.js';
import type { WorkspaceRequest } from './route-access.js';
import { WorkspaceAccess, WorkspaceClosed } from './workspace-access.js';

/**
 * For routes whose statement checks access: before it answers an error, it checks whether the caller has access at all, so that
 * 401, 402 and 404 take precedence as on other routes. Without that check: a temporary 503 or a 408, where it would add a read to a
 * request that cannot be served, and an error that nobody receives. A thousand slow clients can end together.
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
    const first = this.workspaceAccess.confirm(workspace.caller, workspace.id).then(
      () => error,
      (lapsed: unknown) => lapsed,
    );
    void first.then((one) => {
      super.catch(one, host);
    });
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
