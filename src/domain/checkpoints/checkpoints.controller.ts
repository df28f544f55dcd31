import { Controller, Delete, Get, Param, Post, Req, Res } from '@nestjs/common';
import { IsIn, Matches } from 'class-validator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  CurrentWorkspace,
  OwnedWorkspace,
  RequiresSubscription,
  Scopes,
  type WorkspaceRef,
} from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { ENCRYPTED_PATH, ENCRYPTED_PATH_RULE } from '../files/index.js';
import { BadRequest, fromRequest, JsonBody, sendJsonList } from '../../platform/http/index.js';
import { CHECKPOINTS_DOCS } from './checkpoints.docs.js';
import type { CheckpointKind } from './checkpoint.entity.js';
import { type Checkpoint, Checkpoints } from './checkpoints.service.js';
import {
  type Manifest,
  type NoteState,
  type ProjectionOf,
  Projections,
  type Summary,
} from './projections.js';

/** Optional `fromCursor`. */
export const FromCursor = fromRequest(({ query }) => {
  const { fromCursor } = query as { fromCursor?: unknown };
  if (fromCursor === undefined) return undefined;
  const cursor = typeof fromCursor === 'string' && /^\d+$/.test(fromCursor) ? Number(fromCursor) : Number.NaN;
  if (Number.isSafeInteger(cursor)) return cursor;
  throw new BadRequest('fromCursor must be a non-negative integer');
});

/** Required `encPath`. */
const EncryptedPathQuery = fromRequest(({ query }) => {
  const { encPath } = query as { encPath?: unknown };
  if (typeof encPath === 'string' && ENCRYPTED_PATH.test(encPath)) return encPath;
  throw new BadRequest(`encPath ${ENCRYPTED_PATH_RULE}`);
});

/** Base64, base64url or hex. Labels are opaque: only alphabet and length are checked. */
const LABEL = /^(?=.{1,8192}$)(?:[A-Za-z0-9+/]+|[A-Za-z0-9_-]+)={0,2}$/;

class CreateCheckpointRequest {
  @Matches(LABEL, { message: 'encryptedLabel must be 1 to 8192 characters of base64, base64url or hex' })
  encryptedLabel: string;

  @IsIn(['manual', 'auto'], { message: 'kind must be manual or auto' })
  kind: CheckpointKind;
}

@Controller('api/v1/workspaces/:id/checkpoints')
@Documented(CHECKPOINTS_DOCS)
@OwnedWorkspace()
export class CheckpointsController {
  constructor(
    private readonly checkpoints: Checkpoints,
    private readonly projections: Projections,
  ) {}

  @Post()
  @Scopes('documents:write')
  @RequiresSubscription()
  async create(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @JsonBody() { encryptedLabel, kind }: CreateCheckpointRequest,
  ): Promise<Checkpoint & { workspaceId: string }> {
    const { id, ...rest } = await this.checkpoints.create(workspace.id, encryptedLabel, kind);
    return { id, workspaceId: workspace.id, ...rest };
  }

  @Get()
  @Scopes('documents:read')
  async list(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const form = { before: '{"checkpoints":[', after: ']}', wire: (checkpoint: Checkpoint) => checkpoint };
    await sendJsonList(request, reply, this.checkpoints.list(workspace.id), form);
  }

  @Delete(':cpId')
  @Scopes('documents:write')
  @RequiresSubscription()
  async delete(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @Param('cpId') id: string,
  ): Promise<{ ok: true }> {
    await this.checkpoints.delete(workspace.id, id);
    return { ok: true };
  }

  @Get(':cpId/summary')
  @Scopes('documents:read')
  summary(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @Param('cpId') id: string,
    @FromCursor() fromCursor: number | undefined,
  ): Promise<Summary> {
    return this.projections.summary(askedBy(workspace), id, fromCursor);
  }

  @Get(':cpId/restore-manifest')
  @Scopes('documents:read')
  restoreManifest(@CurrentWorkspace() workspace: WorkspaceRef, @Param('cpId') id: string): Promise<Manifest> {
    return this.projections.restoreManifest(askedBy(workspace), id);
  }

  @Get(':cpId/note-state')
  @Scopes('documents:read')
  noteState(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @Param('cpId') id: string,
    @EncryptedPathQuery() encryptedPath: string,
  ): Promise<NoteState> {
    return this.projections.noteState(workspace.id, id, encryptedPath);
  }
}

const askedBy = ({ id, caller }: WorkspaceRef): ProjectionOf => ({ userId: caller.userId, workspaceId: id });
