import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  CurrentPrincipal,
  CurrentWorkspace,
  OwnedWorkspace,
  type Principal,
  RequiresSubscription,
  Scopes,
  Transfer,
  type WorkspaceRef,
} from '../access/index.js';
import { AccessCheckedInStatement, GeneralLimit } from '../access/guards/index.js';
import { Documented } from '../api-docs/index.js';
import { DeviceId } from '../files/index.js';
import { inTime } from '../platform/clock/index.js';
import {
  bodyUntil,
  InFlightRequests,
  JsonBody,
  recheck,
  RequestTimeout,
  sendChunks,
} from '../platform/http/index.js';
import { OpenWhenReadOnly } from '../platform/kill-switch/index.js';
import { BatchDownloads } from './batch-download.js';
import { BatchSlots, LONGEST_BATCH_MS } from './batch-slots.js';
import { BatchUploads, type BatchUploaded, MAX_BATCH_BYTES, MAX_ITEMS } from './batch-upload.js';
import { BATCHES_DOCS, CBOR_SEQUENCE } from './batches.docs.js';
import { BatchDownloadRequest } from './batches.dto.js';

/** Fits 1,000 items with the longest paths. */
const DOWNLOAD_BODY_LIMIT = 8 * 1024 * 1024;
const UPLOAD_BODY_LIMIT = MAX_BATCH_BYTES + MAX_ITEMS * 8 * 1024;

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
    private readonly inFlight: InFlightRequests,
  ) {}

  @Transfer()
  @Post('batch-upload')
  @HttpCode(200)
  @Scopes('documents:write')
  @RequiresSubscription()
  upload(
    @CurrentPrincipal() principal: Principal,
    @CurrentWorkspace() workspace: WorkspaceRef,
    @DeviceId() deviceId: string,
    @Req() { raw }: FastifyRequest,
  ): Promise<BatchUploaded> {
    const late = new AbortController();
    const beforeGroup = async (items: number): Promise<void> => {
      await recheck(raw);
      await this.limit.countTransfers(principal, items);
      late.signal.throwIfAborted();
    };
    return this.slots.during(principal.userId, () => {
      const body = bodyUntil(late.signal, raw, UPLOAD_BODY_LIMIT);
      const uploaded = this.uploads.upload({ workspace, deviceId, beforeGroup }, body);
      return inTime(LONGEST_BATCH_MS, uploaded, () => {
        const error = new RequestTimeout('the batch took too long: send fewer items');
        late.abort(error);
        return error;
      });
    });
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
    const release = await this.slots.take(principal.userId);
    const cut = setTimeout(() => reply.raw.destroy(), LONGEST_BATCH_MS);
    this.inFlight.whenOver(reply.raw, () => {
      clearTimeout(cut);
      release();
    });
    const maps = this.downloads.maps(workspace, items, LONGEST_BATCH_MS / 2);
    await sendChunks(request, reply, CBOR_SEQUENCE, maps);
  }
}
