import { Controller, Get, Param, Post, Req, Res } from '@nestjs/common';
import { ValidateBy } from 'class-validator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OwnedWorkspace, RequiresSubscription, Scopes } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { FromCursor } from '../checkpoints/index.js';
import { JsonBody, sendJsonList } from '../../platform/http/index.js';
import { CurrentVault, NeedsKeySession } from './key-session.guard.js';
import { SEND_TIMEOUT_MS } from './note-answer.js';
import { NOTE_CHECKPOINTS_DOCS } from './note-checkpoints.docs.js';
import { type NoteCheckpoint, NoteCheckpoints, type NoteSummary } from './note-checkpoints.service.js';
import type { Vault } from './vault.js';

/** The longest label whose envelope fits: 8,192 characters of base64, minus 61 bytes. */
const MAX_LABEL_BYTES = 6_083;

const isLabel = (value: unknown): boolean =>
  typeof value === 'string' && value !== '' && Buffer.byteLength(value, 'utf8') <= MAX_LABEL_BYTES;

class CreateNoteCheckpointRequest {
  @ValidateBy(
    { name: 'isLabel', validator: { validate: isLabel } },
    { message: `label must be 1 to ${MAX_LABEL_BYTES} bytes of UTF-8 text` },
  )
  label: string;
}

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
