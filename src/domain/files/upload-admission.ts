import { Injectable } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { Configuration } from '../../platform/config/index.js';
import { Blobs, FreeSpace } from '../../platform/storage/index.js';
import { bodyChunks, declaredLength } from '../../platform/http/index.js';
import { DocumentQuota, type ForeseenUpload } from './document-quota.js';

/** Refuses an upload without sufficient room before its body is read, or as soon as more bytes arrive than fit. */
@Injectable()
export class UploadAdmission {
  constructor(
    private readonly configuration: Configuration,
    private readonly quota: DocumentQuota,
    private readonly space: FreeSpace,
    private readonly blobs: Blobs,
  ) {}

  /**
   * Passes the body of an upload to `use`.
   * @throws NoRoom when the disk has no room for uploads, InsufficientStorage, and whatever `use` throws
   */
  async admit<T>(
    request: IncomingMessage,
    upload: ForeseenUpload,
    use: (body: AsyncIterable<Buffer>) => Promise<T>,
  ): Promise<T> {
    const { maxFileBytes } = this.configuration;
    const length = declaredLength(request);
    const held = (bytes: number): number => this.blobs.heldOf(bytes);
    return this.space.during(async (place) => {
      if (this.isLeftToWrite(length)) return use(bodyChunks(request, maxFileBytes, { place, held }));
      const refuseAbove = await this.quota.foresee(upload, length);
      let received = 0;
      const work = (bytes: number): Promise<void> | undefined => {
        refuseAbove((received += bytes));
        return place.work(bytes);
      };
      return use(bodyChunks(request, maxFileBytes, { place: { ...place, work }, held }));
    });
  }

  /**
   * A small body is checked only by its write: asking first would cost as much as reading it. A body that is too
   * large is refused for its size.
   */
  private isLeftToWrite(length: number | undefined): boolean {
    const { inlineBlobBytes, maxFileBytes } = this.configuration;
    const { ofUploads } = this.quota;
    if (ofUploads === null) return true;
    return length !== undefined && (length <= Math.min(inlineBlobBytes, ofUploads) || length > maxFileBytes);
  }
}
