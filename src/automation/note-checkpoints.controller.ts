import { Controller, Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OwnedWorkspace, RequiresSubscription, Scopes } from '../access/index.js';
import { FromCursor } from '../checkpoints/index.js';
import { JsonBody, sendJsonList } from '../platform/http/index.js';
import { Documented } from '../api-docs/index.js';
import { CurrentVault, NeedsKeySession } from './key-session.guard.js';
import { SEND_TIMEOUT_MS } from './note-answer.js';
import { NOTE_CHECKPOINTS_DOCS } from './note-checkpoints.docs.js';
import { CreateNoteCheckpointRequest } from './note-checkpoints.dto.js';
import { type NoteCheckpoint, NoteCheckpoints, type NoteSummary } from './note-checkpoints.service.js';
import type { Vault } from './vault.js';

@Controller('api/v1/automation/workspaces/:id/checkpoints')
@Documented(NOTE_CHECKPOINTS_DOCS)
@OwnedWorkspace()
@RequiresSubscription()
@NeedsKeySession()
export class NoteCheckpointsController {
  constructor(private readonly checkpoints: NoteCheckpoints) {}

  @Post()
  @Scopes('documents:write')
  async create(
    @CurrentVault() vault: Vault,
    @JsonBody() { label }: CreateNoteCheckpointRequest,
  ): Promise<NoteCheckpoint & { workspaceId: string }> {
    const { id, ...rest } = await this.checkpoints.create(vault, label);
    return { id, workspaceId: vault.workspaceId, ...rest };
  }

  @Get()
  @Scopes('documents:read')
  async list(
    @CurrentVault() vault: Vault,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const form = {
      before: '{"checkpoints":[',
      after: ']}',
      wire: (checkpoint: NoteCheckpoint) => checkpoint,
    };
    await sendJsonList(request, reply, this.checkpoints.list(vault), form);
    const timer = setTimeout(() => reply.raw.destroy(), SEND_TIMEOUT_MS);
    try {
      await reply; // the keys are wiped when this returns
    } finally {
      clearTimeout(timer);
    }
  }

  @Get(':cpId/summary')
  @Scopes('documents:read')
  summary(
    @CurrentVault() vault: Vault,
    @Param('cpId') id: string,
    @FromCursor() fromCursor: number | undefined,
  ): Promise<NoteSummary> {
    return this.checkpoints.summary(vault, id, fromCursor);
  }
}
