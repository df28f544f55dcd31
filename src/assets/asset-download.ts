import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { BlobMissing, type BlobReference, Blobs } from '../storage/index.js';
import { Assets } from './assets.service.js';

/** Three bytes are four characters, so only a piece of a multiple of three can be followed by another. */
const GROUP = 3;

function base64Length(bytes: number): number {
  return Math.ceil(bytes / GROUP) * 4;
}

/** Bytes as base64, piece by piece: an error of theirs is one of the stream's, and they end with it. */
function base64Stream(bytes: Readable): Readable {
  const text = Readable.from(encode(bytes as AsyncIterable<Buffer>), { objectMode: false });
  // A generator that has not begun, since nobody has read yet, does not end what it would read.
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
