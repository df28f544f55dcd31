import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import parseRange from 'range-parser';
import { Blobs, type ByteRange } from '../platform/blobs/index.js';
import { RangeNotSatisfiable } from '../platform/http/index.js';
import { parseEntityTags } from './file-headers.js';
import type { Content } from './files.service.js';

/** Answers a version's bytes: ETag is the content hash, 304 for If-None-Match, 206 for one byte range. */
@Injectable()
export class Download {
  constructor(private readonly blobs: Blobs) {}

  async send(request: FastifyRequest, reply: FastifyReply, content: Content): Promise<void> {
    const etag = `"${content.contentHash}"`;
    reply.headers({ etag, 'accept-ranges': 'bytes', 'cache-control': 'private, no-cache' });
    if (isFresh(request, content.contentHash)) {
      await reply.status(304).send();
      return;
    }

    const range = rangeOf(request, content.size, etag);
    const length = range ? range.end - range.start + 1 : content.size;
    if (range) reply.status(206).header('content-range', `bytes ${range.start}-${range.end}/${content.size}`);
    reply.header('content-type', 'application/octet-stream').header('content-length', length);
    // A stream, because for HEAD the framework would put an empty string's length over ours.
    await reply.send(request.method === 'HEAD' ? Readable.from([]) : await this.blobs.read(content, range));
  }
}

function isFresh({ headers }: FastifyRequest, contentHash: string): boolean {
  const tags = headers['if-none-match'] === undefined ? [] : parseEntityTags(headers['if-none-match'], true);
  return tags.includes('*') || tags.includes(contentHash);
}

/** Undefined means the whole: for no range, one that cannot be read, several, or one of another version (If-Range). */
function rangeOf({ headers }: FastifyRequest, size: number, etag: string): ByteRange | undefined {
  if (headers.range === undefined) return undefined;
  if (headers['if-range'] !== undefined && headers['if-range'] !== etag) return undefined;
  const ranges = parseRange(size, headers.range);
  if (ranges === -1) {
    throw new RangeNotSatisfiable(
      'the range is outside the file',
      {},
      { 'content-range': `bytes */${size}` },
    );
  }
  if (ranges === -2 || ranges.type !== 'bytes' || ranges.length !== 1) return undefined;
  return ranges[0];
}
