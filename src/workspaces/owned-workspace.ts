import { applyDecorators, SetMetadata, UseFilters } from '@nestjs/common';
import { StandingFilter } from './standing.filter.js';

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

export const ACCESS_CHECKED_IN_STATEMENT = 'looks-again';

/**
 * The statement that does the route's work asks by itself whether the workspace is open to the caller (`openTo`): who was let
 * in a moment ago is spared the guard's own read. Before a route has this, its every statement must do so.
 */
export const AccessCheckedInStatement = (): MethodDecorator & ClassDecorator =>
  applyDecorators(SetMetadata(ACCESS_CHECKED_IN_STATEMENT, true), UseFilters(StandingFilter));
