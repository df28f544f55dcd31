import { Controller, Delete, Get, Param, Put, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CurrentWorkspace, OwnedWorkspace, Scopes, type WorkspaceRef } from '../../../access/index.js';
import { byUser } from '../../auth/audit/index.js';
import { Documented } from '../../../platform/api-docs/index.js';
import { JsonBody } from '../../../platform/http/index.js';
import { KEY_SLOTS_DOCS, type KeySlotListWire, keySlotWire, type KeySlotWire } from './key-slots.docs.js';
import { DeleteKeySlotRequest, IfMatch, PutKeySlotRequest } from './key-slots.dto.js';
import { KeySlots } from './key-slots.service.js';

@Controller('api/v1/workspaces/:id/key-slots')
@Documented(KEY_SLOTS_DOCS)
@OwnedWorkspace()
export class KeySlotsController {
  constructor(private readonly keySlots: KeySlots) {}

  @Get()
  @Scopes('documents:read')
  async list(@CurrentWorkspace() { id }: WorkspaceRef): Promise<KeySlotListWire> {
    const list = await this.keySlots.list(id);
    return { ...list, slots: list.slots.map(keySlotWire) };
  }

  @Put(':slotId')
  @Scopes('full')
  async put(
    @CurrentWorkspace() { id: workspaceId }: WorkspaceRef,
    @Param('slotId') slotId: string,
    @IfMatch() ifMatch: readonly string[] | null,
    @JsonBody() { verificationHash, label = null, ...content }: PutKeySlotRequest,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<KeySlotWire> {
    const write = {
      workspaceId,
      slotId: slotId.toLowerCase(),
      verificationHash,
      ifMatch,
      by: byUser(request),
    };
    const { slot, isNew } = await this.keySlots.put(write, { label, ...content });
    reply.status(isNew ? 201 : 200);
    return keySlotWire(slot);
  }

  @Delete(':slotId')
  @Scopes('full')
  async delete(
    @CurrentWorkspace() { id: workspaceId }: WorkspaceRef,
    @Param('slotId') slotId: string,
    @IfMatch() ifMatch: readonly string[] | null,
    @JsonBody() { verificationHash }: DeleteKeySlotRequest,
    @Req() request: FastifyRequest,
  ): Promise<{ ok: true }> {
    const write = {
      workspaceId,
      slotId: slotId.toLowerCase(),
      verificationHash,
      ifMatch,
      by: byUser(request),
    };
    await this.keySlots.delete(write);
    return { ok: true };
  }
}
