import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  AccessCheckedInStatement,
  CurrentPrincipal,
  CurrentWorkspace,
  GeneralLimit,
  OwnedWorkspace,
  type Principal,
  RequiresSubscription,
  Scopes,
  Transfer,
  type WorkspaceRef,
} from '../../../access/index.js';
import {
  arrayOf,
  COUNT,
  Documented,
  json,
  matching,
  named,
  nullable,
  objectOf,
  ORDINAL,
  SHA256_HEX,
  STRING,
  UUID,
} from '../../../platform/api-docs/index.js';
import {
  bodyChunks,
  JsonBody,
  type Place,
  ReadAhead,
  recheck,
  sendChunks,
  whileRead,
  WorkSlot,
} from '../../../platform/http/index.js';
import { OpenWhenReadOnly } from '../../../platform/kill-switch.js';
import { DEVICE_ID } from '../../devices/index.js';
import { DeviceId, ENCRYPTED_PATH } from '../index.js';
import { BatchDownloads } from './batch-download.js';
import {
  BatchSlots,
  type BatchUploaded,
  BatchUploads,
  MAX_BATCH_BYTES,
  MAX_ITEMS,
  type UploadResult,
} from './batch-upload.js';
import { BatchDownloadRequest } from './batches.dto.js';

export const CBOR_SEQUENCE = 'application/cbor-seq';

const RESULT = named(
  'BatchUploadResult',
  objectOf<UploadResult>(
    {
      encryptedPath: nullable(matching(ENCRYPTED_PATH)),
      status: COUNT,
      id: nullable(UUID),
      version: nullable(ORDINAL),
      contentHash: nullable(SHA256_HEX),
      error: STRING,
    },
    ['error'],
  ),
);

export const BATCHES_DOCS = {
  tag: 'Files',
  operations: {
    upload: {
      id: 'files.batchUpload',
      summary: 'Upload many files',
      description:
        'The body is a CBOR sequence (RFC 8742) of maps with definite lengths: `{ encryptedPath, contentHash, content, ifMatch?, ' +
        'ifNoneMatch? }`, at most 1,000, with at most 1 MiB of `content` (a byte string) each and 32 MiB in all, and 16 KiB ' +
        'besides the content of each. No item may be larger than a PUT. Each item is decided as a PUT of that file: ' +
        '`contentHash` is the SHA-256 of the content in hex, `ifMatch` is a content hash or `*`, ' +
        '`ifNoneMatch` is `*`. Items are committed in groups, in order, before the answer; a refused item leaves the others. A ' +
        'batch that breaks off or is answered with an error keeps the groups that were committed, and can be sent again: what ' +
        'is stored already changes nothing.',
      headers: {
        'X-Device-Id': {
          description:
            'The device that makes the changes and is not notified of them. It need not be registered.',
          schema: matching(DEVICE_ID),
          isRequired: true,
        },
      },
      body: {
        description: 'A CBOR sequence of maps.',
        type: CBOR_SEQUENCE,
      },
      answers: {
        200: json(
          'a result for each item, in order. `status` is what a PUT would have answered (200, 201, 400, 412, 507), or 409 for a ' +
            'path that the batch has before; `cursor` is that of the last change, or of the workspace when there is none',
          objectOf<BatchUploaded>({ cursor: COUNT, results: arrayOf(RESULT) }),
        ),
        400: 'X-Device-Id is invalid, or the body is empty or not a CBOR sequence of maps',
        408: 'the body arrives more slowly than the least pace',
        413: 'there are too many items, an item is too large, or all of them are',
      },
    },
    download: {
      id: 'files.batchDownload',
      summary: 'Download many files',
      description:
        'The answer is a CBOR sequence (RFC 8742) of maps, one for each item, in order: `{ encryptedPath, status, version, ' +
        'contentHash, encryptedSize, content? }`. `status` is 200; 304 when `contentHash` of the item is the current one; or 404, ' +
        'with nulls. `content` is a byte string. It is missing with 304, when the file has more than 1 MiB (download it alone), ' +
        'and when the contents of the answer would exceed 32 MiB or it takes more than a minute (ask again). An answer with fewer ' +
        'maps than items was cut off.',
      answers: {
        200: { description: 'a map for each item', content: { [CBOR_SEQUENCE]: {} } },
        400: 'an item is invalid, or there are none or more than 1,000',
      },
    },
  },
} as const;

/** Fits 1,000 items with the longest paths. */
const DOWNLOAD_BODY_LIMIT = 8 * 1024 * 1024;
const UPLOAD_BODY_LIMIT = MAX_BATCH_BYTES + MAX_ITEMS * 8 * 1024;

/** A batch has up to three groups of items in memory. */
const HELD_BYTES = 3 * 1024 * 1024;

/** After this time a download omits contents; the client requests them again. */
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
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.limit.countTransfers(principal, items.length);
    const ahead = new ReadAhead();
    const maps = this.downloads.maps(workspace, items, LONGEST_CONTENTS_MS, ahead);
    const place = this.slotOf(principal);
    await sendChunks(
      reply,
      CBOR_SEQUENCE,
      whileRead(reply.raw, maps, { place, mostHeld: HELD_BYTES, ahead }),
    );
  }

  private slotOf({ userId }: Principal): WorkSlot {
    return new WorkSlot(() => this.slots.take(userId));
  }
}
