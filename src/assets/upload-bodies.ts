import { Injectable } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { bodyChunks } from '../platform/http/index.js';
import { type FairLimits, type FairSemaphore, Queues } from '../platform/limits/index.js';
import { FreeSpace } from '../storage/index.js';
import { UPLOAD_BODY_LIMIT, UploadBody } from './upload-body.js';

/**
 * So many uploads are decoded at a time, each a piece at a time: between two pieces an upload holds no slot, so a slow
 * client keeps nobody waiting. The rest wait, and their clients with them, for the bytes are not read. As many of one user
 * may wait as a user may have requests under way.
 */
export const DECODING: FairLimits = {
  atOnce: 4,
  waiting: 512,
  perOwner: { atOnce: 3, waiting: 250 },
  waitMs: 10_000,
  busy: 'too many assets are being uploaded',
};

/** Lends the bodies of uploads for as long as their uploads take. */
@Injectable()
export class UploadBodies {
  private readonly slots: FairSemaphore;

  constructor(
    private readonly space: FreeSpace,
    queues: Queues,
  ) {
    this.slots = queues.open('asset_pieces', DECODING);
  }

  /** @throws NoRoom, before anything is read, when the disk has no room for uploads; and what `use` throws */
  lend<T>(request: IncomingMessage, userId: string, use: (body: UploadBody) => Promise<T>): Promise<T> {
    return this.space.during((count) =>
      use(new UploadBody(bodyChunks(request, UPLOAD_BODY_LIMIT, count), this.slots, userId)),
    );
  }
}
