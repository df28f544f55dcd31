import { Injectable } from '@nestjs/common';
import { StorageQuota, type StorageUsage } from '../assets/index.js';
import { DocumentQuota, type DocumentUsage } from '../files/index.js';

/** Usage of an account. */
export interface StoredThings {
  readonly documents: DocumentUsage;
  readonly storage: StorageUsage;
}

@Injectable()
export class StorageOverview {
  constructor(
    private readonly documents: DocumentQuota,
    private readonly assets: StorageQuota,
  ) {}

  /** One after the other: a page must not take up the connections of others. */
  async of(userId: string): Promise<StoredThings> {
    return { documents: await this.documents.usage(userId), storage: await this.assets.usage(userId) };
  }
}
