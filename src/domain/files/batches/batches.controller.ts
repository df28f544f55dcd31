import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AccessCheckedInStatement, CurrentPrincipal, CurrentWorkspace, GeneralLimit, OwnedWorkspace, type Principal, RequiresSubscription, Scopes, Transfer, type WorkspaceRef } from '../../../access/index.js';
import { Documented } from '../../../platform/api-docs/index.js';
import { DeviceId } from '../index.js';
import {
  bodyChunks,
  JsonBody,
  type Place,
  recheck,
  sendChunks,
  ReadAhead,
  whileRead,
  WorkSlot,
} from '../../../platform/http/index.js';
import { OpenWhenReadOnly } from '../../../platform/kill-switch/index.js';
import { BatchDownloads } from './batch-download.js';
import { BatchSlots } from './batch-slots.js';
import { BatchUploads, type BatchUploaded, MAX_BATCH_BYTES, MAX_ITEMS } from './batch-upload.js';
import { BATCHES_DOCS, CBOR_SEQUENCE } from './batches.docs.js';
import { BatchDownloadRequest } from './batches.dto.js';

/** Fits 1,000 items with the longest paths. */
const DOWNLOAD_BODY_LIMIT = 8 * 1024 * 1024;
const UPLOAD_BODY_LIMIT = MAX_BATCH_BYTES + MAX_ITEMS * 8 * 1024;

/** A batch has up to three groups of items in memory. */
const HELD_BYTES = 3 * 1024 * 1024;

/** A download that takes longer has no contents from then on: its client asks for them again. */
const LONGEST_CONTENTS_MS = 60_000;

/** Extension of the contract. */
@Controller('api/v1/workspaces/:id/files')
@Documented(BATCHES_DOCS)
@OwnedWorkspace()
@AccessCheckedInStatement()
export class BatchesController {
  constructor(
    private readonly uploads: BatchUploads,
    private readonly downloads: BatchDownloads,
    private readonly slots: BatchSlots,
    private readonly limit: GeneralLimit,
  ) {}

  @Transfer()
  @Post('batch-upload')
  @HttpCode(200)
  @Scopes('documents:write')
  @RequiresSubscription()
  async upload(
    @CurrentPrincipal() principal: Principal,
    @CurrentWorkspace() workspace: WorkspaceRef,
    @DeviceId() deviceId: string,
    @Req() { raw }: FastifyRequest,
  ): Promise<BatchUploaded> {
    const beforeGroup = async (items: number): Promise<void> => {
      await recheck(raw);
      await this.limit.countTransfers(principal, items);
    };
    const slot = this.slotOf(principal);
    const held = (received: number): number => Math.min(received, HELD_BYTES);
    const read = (place: Place): AsyncIterable<Buffer> => bodyChunks(raw, UPLOAD_BODY_LIMIT, { place, held });
    return this.uploads.upload({ workspace, deviceId, beforeGroup, slot }, read).finally(() => slot.rest());
  }

  @Transfer()
  @Post('batch-download')
  @OpenWhenReadOnly('only reads')
  @HttpCode(200)
  @Scopes('documents:read')
  async download(
    @CurrentPrincipal() principal: Principal,
    @CurrentWorkspace() workspace: WorkspaceRef,
    @JsonBody(DOWNLOAD_BODY_LIMIT) { items }: BatchDownloadRequest,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.limit.countTransfers(principal, items.length);
    const ahead = new ReadAhead();
    const maps = this.downloads.maps(workspace, items, LONGEST_CONTENTS_MS, ahead);
    const place = this.slotOf(principal);
    await sendChunks(
      request,
      reply,
      CBOR_SEQUENCE,
      whileRead(reply.raw, maps, { place, mostHeld: HELD_BYTES, ahead }),
    );
  }

  private slotOf({ userId }: Principal): WorkSlot {
    return new WorkSlot(() => this.slots.take(userId));
  }
}
