import { Injectable } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { bodyChunks } from '../../platform/http/index.js';
import { type FairLimits, type FairSemaphore, Queues } from '../../platform/limits/index.js';
import { Blobs, FreeSpace } from '../../platform/storage/index.js';
import { UPLOAD_BODY_LIMIT, UploadBody } from './upload-body.js';

/**
 * Limits how many uploads are decoded concurrently, a chunk at a time. Between two chunks an upload holds no slot, so
 * a slow client blocks no one. Other uploads wait, and so do their clients, because their bytes are not read. The
 * waiting uploads of one user are limited to the number of concurrent requests per user.
 */
export const DECODING: FairLimits = {
  atOnce: 4,
  waiting: 512,
  perOwner: { atOnce: 3, waiting: 250 },
  waitMs: 10_000,
  busy: 'too many assets are being uploaded',
};

/** Provides the bodies of uploads for the duration of the upload. */
@Injectable()
export class UploadBodies {
  private readonly slots: FairSemaphore;

  constructor(
    private readonly space: FreeSpace,
    private readonly blobs: Blobs,
    queues: Queues,
  ) {
    this.slots = queues.open('asset_pieces', DECODING);
  }

  /** @throws NoRoom, before anything is read, when the disk has no room for uploads; and whatever `use` throws */
  lend<T>(request: IncomingMessage, userId: string, use: (body: UploadBody) => Promise<T>): Promise<T> {
    const held = (received: number): number => this.blobs.heldOf(received);
    return this.space.during((place) =>
      use(new UploadBody(bodyChunks(request, UPLOAD_BODY_LIMIT, { place, held }), this.slots, userId)),
    );
  }
}
