import { Controller, Get, HttpCode, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AccessCheckedInStatement, CurrentPrincipal, CurrentWorkspace, OwnedWorkspace, type Principal, RequiresSubscription, Scopes, type WorkspaceRef } from '../../access/index.js';
import { Devices } from '../devices/index.js';
import { JsonBody, sendJsonText } from '../../platform/http/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { Pages } from './pages.service.js';
import { Push, type Pushed } from './push.service.js';
import { SYNC_DOCS } from './sync.docs.js';
import { clampLimit, clampTextLimit, pageCursorIn, PullRequest, PushRequest } from './sync.dto.js';
import { ChangeLogReader } from './change-log-reader.js';

/** Fits 1,000 rows with the longest paths. */
const PUSH_BODY_LIMIT = 8 * 1024 * 1024;

@Controller('api/v1/workspaces/:id/sync')
@Documented(SYNC_DOCS)
@OwnedWorkspace()
@RequiresSubscription()
export class SyncController {
  constructor(
    private readonly sync: ChangeLogReader,
    private readonly pages: Pages,
    private readonly pushes: Push,
    private readonly devices: Devices,
  ) {}

  @Get('status')
  @Scopes('documents:read')
  status(@CurrentWorkspace() workspace: WorkspaceRef): Promise<{ cursor: number; fileCount: number }> {
    return this.sync.status(workspace.id);
  }

  @Get('snapshot')
  @Scopes('documents:read')
  @AccessCheckedInStatement()
  async snapshot(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @Query('limit') limit: unknown,
    @Query('pageCursor') pageCursor: unknown,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const page = await this.pages.snapshot(workspace, pageCursorIn(pageCursor), clampTextLimit(limit));
    await sendJsonText(request, reply, page);
  }

  @Post('push')
  @HttpCode(200)
  @Scopes('documents:write')
  push(
    @CurrentPrincipal() { userId }: Principal,
    @CurrentWorkspace() workspace: WorkspaceRef,
    @JsonBody(PUSH_BODY_LIMIT) body: PushRequest,
  ): Promise<Pushed> {
    void this.devices.seen(userId, body.deviceId);
    return this.pushes.push(workspace.id, body);
  }

  @Post('pull')
  @OpenWhenReadOnly('only reads')
  @HttpCode(200)
  @Scopes('documents:read')
  @AccessCheckedInStatement()
  async pull(
    @CurrentPrincipal() { userId }: Principal,
    @CurrentWorkspace() workspace: WorkspaceRef,
    @JsonBody() body: PullRequest,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const page = await this.pages.pull(workspace, body.cursor, clampLimit(body.limit));
    void this.devices.seen(userId, body.deviceId);
    await sendJsonText(request, reply, page);
  }
}
