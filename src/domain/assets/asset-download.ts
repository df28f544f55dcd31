import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import { BlobMissing, type BlobReference, Blobs } from '../../platform/storage/index.js';
import { Assets } from './assets.service.js';

/** Three bytes make four characters, so only a chunk whose length is a multiple of three can be followed by another. */
const GROUP = 3;

function base64Length(bytes: number): number {
  return Math.ceil(bytes / GROUP) * 4;
}

/**
 * Encodes bytes as base64 chunk by chunk. An error of the source becomes an error of the stream, and closing the
 * stream destroys the source.
 */
function base64Stream(bytes: Readable): Readable {
  const text = Readable.from(encode(bytes as AsyncIterable<Buffer>), { objectMode: false });
  // A generator that has not started, because nothing has been read yet, does not destroy its source.
  return text.once('close', () => bytes.destroy());
}

async function* encode(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const all = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    const whole = all.length - (all.length % GROUP);
    rest = all.subarray(whole);
    if (whole > 0) yield all.toString('base64', 0, whole);
  }
  if (rest.length > 0) yield rest.toString('base64');
}

interface Text {
  /** The size of the envelope, in bytes. */
  readonly size: number;
  readonly base64: Readable | string;
}

/** Sends an envelope as base64 text; no header reveals the type of the file inside. */
@Injectable()
export class AssetDownload {
  constructor(
    private readonly assets: Assets,
    private readonly blobs: Blobs,
  ) {}

  async send(reply: FastifyReply, workspaceId: string, token: string): Promise<void> {
    const blob = await this.assets.envelope(workspaceId, token);
    const isHead = reply.request.method === 'HEAD';
    const text = isHead ? headOf(blob) : await this.read(workspaceId, token, blob);
    // Set late: an error response thrown above must not carry these headers.
    reply.header('content-type', 'text/plain; charset=utf-8').header('x-asset-size-bytes', text.size);
    await reply.header('content-length', base64Length(text.size)).send(text.base64);
  }

  /**
   * The bytes of an asset may be removed as soon as it is deleted. By the time they are missing, the token belongs to
   * another asset or to none.
   */
  private async read(workspaceId: string, token: string, blob: BlobReference): Promise<Text> {
    try {
      const bytes = await this.blobs.read(blob);
      const base64 = bytes instanceof Readable ? base64Stream(bytes) : bytes.toString('base64');
      return { size: blob.size, base64 };
    } catch (error) {
      if (!(error instanceof BlobMissing)) throw error;
      const now = await this.assets.envelope(workspaceId, token);
      if (now.id === blob.id && now.location === blob.location) throw error;
      return this.read(workspaceId, token, now);
    }
  }
}

/** Returns a stream because Fastify would answer HEAD with the length of an empty string. */
function headOf({ size }: BlobReference): Text {
  return { size, base64: Readable.from([]) };
}
