import { Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { isUUID } from 'class-validator';
import { CurrentPrincipal, type Principal, Scopes } from '../auth/index.js';
import { RequiresSubscription } from '../billing/index.js';
import { Devices } from '../devices/index.js';
import { BadRequest, JsonBody } from '../platform/http/index.js';
import { CurrentWorkspace, OwnedWorkspace, type WorkspaceRef } from '../workspaces/index.js';
import { clampLimit, clampTextLimit } from './limits.js';
import { Push, type Pushed } from './push.service.js';
import { PullRequest, PushRequest } from './sync.dto.js';
import { Sync } from './sync.service.js';
import { changeWire, type ChangeWire, snapshotFileWire, type SnapshotFileWire } from './sync.wire.js';
import { OpenWhenReadOnly } from '../platform/kill-switch/index.js';

/** 1,000 rows with the longest paths. */
const PUSH_BODY_LIMIT = 8 * 1024 * 1024;

@Controller('api/v1/workspaces/:id/sync')
@OwnedWorkspace()
@RequiresSubscription()
export class SyncController {
  constructor(
    private readonly sync: Sync,
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
  async snapshot(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @Query('limit') limit?: unknown,
    @Query('pageCursor') pageCursor?: unknown,
  ): Promise<SnapshotWire> {
    const from = pageCursor === undefined || pageCursor === '' ? undefined : pageCursor;
    if (from !== undefined && !isUUID(from)) throw new BadRequest('pageCursor must be a file id');
    const page = await this.sync.snapshot(workspace.id, from as string | undefined, clampTextLimit(limit));
    return {
      files: page.files.map(snapshotFileWire),
      cursor: page.cursor,
      nextPageCursor: page.hasMore ? (page.files.at(-1)?.id ?? null) : null,
      hasMore: page.hasMore,
    };
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
  async pull(
    @CurrentPrincipal() { userId }: Principal,
    @CurrentWorkspace() workspace: WorkspaceRef,
    @JsonBody() body: PullRequest,
  ): Promise<PullWire> {
    void this.devices.seen(userId, body.deviceId);
    const page = await this.sync.pull(workspace.id, body.cursor, clampLimit(body.limit));
    return { changes: page.changes.map(changeWire), cursor: page.cursor, hasMore: page.hasMore };
  }
}

interface SnapshotWire {
  files: SnapshotFileWire[];
  cursor: number;
  nextPageCursor: string | null;
  hasMore: boolean;
}

interface PullWire {
  changes: ChangeWire[];
  cursor: number;
  hasMore: boolean;
}
