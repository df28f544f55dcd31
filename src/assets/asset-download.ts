import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { BlobMissing, type BlobReference, Blobs } from '../storage/index.js';
import { Assets } from './assets.service.js';
import { base64Length, base64Stream } from './base64-stream.js';

interface Text {
  /** Of the envelope, in bytes. */
  readonly size: number;
  readonly base64: Readable | string;
}

/** Answers an envelope as base64 text; what kind of file is in it, no header says. */
@Injectable()
export class AssetDownload {
  constructor(
    private readonly assets: Assets,
    private readonly blobs: Blobs,
  ) {}

  async send(
    { method }: FastifyRequest,
    reply: FastifyReply,
    asset: { workspaceId: string; token: string },
  ): Promise<void> {
    const blob = await this.assets.envelope(asset.workspaceId, asset.token);
    const text = method === 'HEAD' ? headOf(blob) : await this.read(asset.workspaceId, asset.token, blob);
    // Only now: the answer to an error on the way here must not carry them.
    reply.header('content-type', 'text/plain; charset=utf-8').header('x-asset-size-bytes', text.size);
    await reply.header('content-length', base64Length(text.size)).send(text.base64);
  }

  /** An asset's bytes may go as soon as it is deleted: then, by the time they are missed, it is another one or none. */
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

/** A stream, because to HEAD the framework would answer with the length of an empty text. */
function headOf({ size }: BlobReference): Text {
  return { size, base64: Readable.from([]) };
}
