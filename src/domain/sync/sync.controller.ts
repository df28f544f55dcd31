import { Controller, Get, HttpCode, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import {
  AccessCheckedInStatement,
  CurrentPrincipal,
  CurrentWorkspace,
  OwnedWorkspace,
  type Principal,
  RequiresSubscription,
  Scopes,
  type WorkspaceRef,
} from '../../access/index.js';
import {
  arrayOf,
  BOOLEAN,
  COUNT,
  Documented,
  errorWith,
  INSTANT,
  json,
  matching,
  named,
  nullable,
  objectOf,
  oneOf,
  ORDINAL,
  SHA256_HEX,
  UUID,
} from '../../platform/api-docs/index.js';
import { JsonBody, sendJsonText } from '../../platform/http/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch.js';
import { DEVICE_ID, Devices } from '../devices/index.js';
import { ENCRYPTED_PATH } from '../files/index.js';
import { ChangeLogReader, Pages } from './pages.service.js';
import { Push, type Pushed } from './push.service.js';
import { clampLimit, clampTextLimit, pageCursorIn, PullRequest, PushRequest } from './sync.dto.js';

export const PATH = matching(ENCRYPTED_PATH);

export const PAGE_QUERY = {
  limit: {
    description: '1 to 1000; 100 if it is missing or not a number. The value is rounded down and clamped.',
  },
  pageCursor: { description: '`nextPageCursor` of the previous page.', schema: UUID },
} as const;

const STATUS = objectOf({ cursor: COUNT, fileCount: COUNT });

const SNAPSHOT_FILE = named(
  'SnapshotFile',
  objectOf({
    id: UUID,
    encryptedPath: PATH,
    contentHash: SHA256_HEX,
    encryptedSize: COUNT,
    version: ORDINAL,
    createdAt: INSTANT,
    updatedAt: INSTANT,
  }),
);

const SNAPSHOT = objectOf({
  files: arrayOf(SNAPSHOT_FILE),
  cursor: COUNT,
  nextPageCursor: nullable(UUID),
  hasMore: BOOLEAN,
});

const CHANGE = named(
  'Change',
  objectOf({
    encryptedPath: PATH,
    action: oneOf('upsert', 'delete'),
    contentHash: SHA256_HEX,
    encryptedSize: COUNT,
    version: ORDINAL,
    changedAt: INSTANT,
    changedByDevice: nullable(matching(DEVICE_ID)),
  }),
);

const PULLED = objectOf({
  changes: arrayOf(CHANGE),
  cursor: COUNT,
  hasMore: BOOLEAN,
});

const PUSHED = objectOf<Pushed>({
  cursor: COUNT,
  accepted: arrayOf(PATH),
  conflicts: arrayOf(
    named(
      'PushConflict',
      objectOf<Pushed['conflicts'][number]>({
        encryptedPath: PATH,
        serverVersion: ORDINAL,
        serverContentHash: SHA256_HEX,
      }),
    ),
  ),
});

const BOOTSTRAP = json(
  'the cursor is not valid in this log: start again from the snapshot',
  errorWith({ needsBootstrap: { const: true }, compactionFloor: COUNT }),
);

export const SYNC_DOCS = {
  tag: 'Sync',
  operations: {
    status: {
      id: 'sync.getStatus',
      summary: 'Get the head of the change log',
      answers: { 200: json('the head cursor and the number of live files', STATUS) },
    },
    snapshot: {
      id: 'sync.getSnapshot',
      summary: 'Get a page of the snapshot of live files',
      description: 'Keep only the `cursor` of the first page, and pull from it after the last page.',
      query: PAGE_QUERY,
      answers: { 200: json('a page, ordered by file id', SNAPSHOT), 400: 'pageCursor is not a file id' },
    },
    push: {
      summary: 'Push deletions',
      description:
        'All rows are processed in one transaction. `action` is `delete`. Content is uploaded file by file with PUT.',
      answers: { 200: json('the accepted paths and the conflicts', PUSHED), 409: BOOTSTRAP },
    },
    pull: {
      summary: 'List the changes after a cursor, oldest first',
      description:
        '`limit` is 1 to 1000; the default is 100. While `hasMore` is true, pull again with the returned cursor.',
      answers: { 200: json('the changes, and the cursor to continue from', PULLED), 409: BOOTSTRAP },
    },
  },
} as const;

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
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const page = await this.pages.snapshot(workspace, pageCursorIn(pageCursor), clampTextLimit(limit));
    await sendJsonText(reply, page);
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
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const page = await this.pages.pull(workspace, body.cursor, clampLimit(body.limit));
    void this.devices.seen(userId, body.deviceId);
    await sendJsonText(reply, page);
  }
}
