import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import { BlobMissing, type BlobReference, Blobs } from '../../platform/storage/index.js';
import { Assets } from './assets.service.js';

/** The length of bytes in base64, with padding. */
const base64Length = (bytes: number): number => Math.ceil(bytes / 3) * 4;

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
      const base64 = bytes instanceof Readable ? bytes.setEncoding('base64') : bytes.toString('base64');
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
