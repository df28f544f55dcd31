import { Controller, Delete, Get, Injectable, Put, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import {
  AccessCheckedInStatement,
  CurrentWorkspace,
  OwnedWorkspace,
  RequiresSubscription,
  Scopes,
  Transfer,
  type WorkspaceRef,
} from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { parseEntityTags, RangeNotSatisfiable, sendJsonList } from '../../platform/http/index.js';
import { Blobs, type ByteRange } from '../../platform/storage/index.js';
import {
  ContentHash,
  DeviceId,
  EncryptedPath,
  type Precondition,
  UploadPrecondition,
} from './file-headers.js';
import { FILES_DOCS, type UploadedFile } from './files.docs.js';
import { FileContentLoader, Files, type ListedFile, type VersionBytes } from './files.service.js';
import { UploadAdmission } from './upload-writer.js';

const SINGLE_RANGE = /^bytes=(\d*)-(\d*)$/i;

/**
 * Parses the single range of a `Range` header against a size in bytes, as specified in RFC 9110. Undefined means the
 * whole representation: several ranges, another unit, an end before the start, or no range at all.
 */
function parseByteRange(header: string, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = SINGLE_RANGE.exec(header.trim()) ?? [];
  if (first === '' && last === '') return undefined;

  const isSuffix = first === ''; // the last n bytes, or all when there are fewer
  const start = isSuffix ? Math.max(size - Number(last), 0) : Number(first);
  const end = isSuffix || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (!isSuffix && last !== '' && Number(last) < start) return undefined;
  return start < size ? { start, end } : 'unsatisfiable';
}

/** Sends the bytes of a version: ETag is the content hash, 304 for If-None-Match, 206 for one byte range. */
@Injectable()
export class Download {
  constructor(private readonly blobs: Blobs) {}

  /** Resolves when the response has started. Waiting for the last byte would delay every request. */
  async send(reply: FastifyReply, content: VersionBytes): Promise<void> {
    const { request } = reply;
    const etag = `"${content.contentHash}"`;
    const always = { etag, 'accept-ranges': 'bytes', 'cache-control': 'private, no-cache' };
    if (isFresh(request, content.contentHash)) {
      void reply.status(304).headers(always).send(nothing());
      return;
    }

    const range = rangeOf(request, content.size, etag);
    const body = request.method === 'HEAD' ? nothing() : await this.blobs.read(content, range);
    // Set late: an error response thrown above must not carry these headers.
    reply.headers(always).header('content-type', 'application/octet-stream');
    reply.header('content-length', range ? range.end - range.start + 1 : content.size);
    if (range) reply.status(206).header('content-range', `bytes ${range.start}-${range.end}/${content.size}`);
    void reply.send(body);
  }
}

/** Returns a stream because Fastify would answer HEAD with the length of an empty string. */
function nothing(): Readable {
  return Readable.from([]);
}

function isFresh({ headers }: FastifyRequest, contentHash: string): boolean {
  const tags = headers['if-none-match'] === undefined ? [] : parseEntityTags(headers['if-none-match'], true);
  return tags.includes('*') || tags.includes(contentHash);
}

/**
 * Undefined means the whole file: also for HEAD, where ranges do not apply, and for a range of another version
 * (If-Range).
 */
function rangeOf({ method, headers }: FastifyRequest, size: number, etag: string): ByteRange | undefined {
  if (method !== 'GET' || headers.range === undefined) return undefined;
  if (headers['if-range'] !== undefined && headers['if-range'] !== etag) return undefined;
  const range = parseByteRange(headers.range, size);
  if (range !== 'unsatisfiable') return range;
  const contentRange = { 'content-range': `bytes */${size}` };
  throw new RangeNotSatisfiable('the range is outside the file', {}, contentRange);
}

/** The contract mixes cases: the list is snake_case, the response to an upload is camelCase. */
const fileWire = (file: ListedFile) => ({
  id: file.id,
  encrypted_path: file.encryptedPath,
  content_hash: file.contentHash,
  encrypted_size: file.encryptedSize,
  version: file.version,
  created_at: file.createdAt,
  updated_at: file.updatedAt,
});

@Controller('api/v1/workspaces/:id/files')
@Documented(FILES_DOCS)
@OwnedWorkspace()
export class FilesController {
  constructor(
    private readonly files: Files,
    private readonly contentLoader: FileContentLoader,
    private readonly download: Download,
    private readonly admission: UploadAdmission,
  ) {}

  @Get()
  @Scopes('documents:read')
  async list(@CurrentWorkspace() workspace: WorkspaceRef, @Res() reply: FastifyReply): Promise<void> {
    const form = { before: '{"files":[', after: ']}', wire: fileWire };
    await sendJsonList(reply, this.files.list(workspace.id), form);
  }

  @Transfer()
  @Put(':encPath')
  @Scopes('documents:write')
  @RequiresSubscription()
  @AccessCheckedInStatement()
  async put(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @EncryptedPath() encryptedPath: string,
    @ContentHash() contentHash: string,
    @DeviceId() deviceId: string,
    @UploadPrecondition() precondition: Precondition,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<UploadedFile> {
    const { id: workspaceId, caller } = workspace;
    const upload = { workspaceId, caller, encryptedPath, contentHash, deviceId, precondition };
    const { isNew, fileId, encryptedSize, version } = await this.admission.admit(
      request.raw,
      upload,
      (body) => this.files.upload(upload, body),
    );
    reply.status(isNew ? 201 : 200);
    return { id: fileId, workspaceId, encryptedPath, contentHash, encryptedSize, version };
  }

  @Transfer()
  @Get(':encPath')
  @Scopes('documents:read')
  @AccessCheckedInStatement()
  async get(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @EncryptedPath() encryptedPath: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.download.send(reply, await this.contentLoader.content(workspace, encryptedPath));
  }

  @Transfer()
  @Delete(':encPath')
  @Scopes('documents:write')
  @RequiresSubscription()
  async delete(
    @CurrentWorkspace() workspace: WorkspaceRef,
    @EncryptedPath() encryptedPath: string,
    @DeviceId() deviceId: string,
  ): Promise<{ ok: true }> {
    await this.files.delete(workspace.id, encryptedPath, deviceId);
    return { ok: true };
  }
}
