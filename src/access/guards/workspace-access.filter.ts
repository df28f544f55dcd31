import {
  applyDecorators,
  type ArgumentsHost,
  Catch,
  Injectable,
  SetMetadata,
  UseFilters,
} from '@nestjs/common';
import { ApiError, ErrorFilter, NoRoom, ServiceUnavailable } from '../../platform/http/index.js';
import { Log } from '../../platform/log/index.js';
import type { WorkspaceRequest } from '../index.js';
import { WorkspaceAccess, WorkspaceClosed } from './workspace-access.js';

/**
 * For routes whose statement checks access: before it answers an error, it checks whether the caller has access at all, so that
 * 401, 402 and 404 take precedence as on other routes. A temporary 503 is answered without that check: it would add another read
 * to a request that cannot be served.
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
    const { workspace } = host.switchToHttp().getRequest<Partial<WorkspaceRequest>>();
    if (!workspace || !isOfRequest(error)) {
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
  (error instanceof ApiError && !(error instanceof ServiceUnavailable));

export const ACCESS_CHECKED_IN_STATEMENT = 'access-checked-in-statement';

/**
 * The statement that does the route's work checks by itself whether the workspace is open to the caller (`accessCondition`);
 * callers admitted within the last minute skip the guard's own read. Danger: every statement of such a route must check access.
 */
export const AccessCheckedInStatement = (): MethodDecorator & ClassDecorator =>
  applyDecorators(SetMetadata(ACCESS_CHECKED_IN_STATEMENT, true), UseFilters(WorkspaceAccessFilter));
