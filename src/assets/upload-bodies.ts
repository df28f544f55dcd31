import { Injectable } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { FreeSpace } from '../storage/index.js';
import { bodyChunks } from '../platform/http/index.js';
import { type FairSemaphore, Queues } from '../platform/limits/index.js';
import { DECODING } from './decode-slots.js';
import { UPLOAD_BODY_LIMIT } from './envelope.js';
import { UploadBody } from './upload-body.js';

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
