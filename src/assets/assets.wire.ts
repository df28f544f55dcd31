import type { ListedAsset } from './assets.service.js';
import type { StoragePlan, StorageUsage } from './storage-quota.js';

export interface AssetWire {
  encryptedFilename: string;
  /** Of the envelope. */
  sizeBytes: number;
  /** Epoch milliseconds. */
  uploadedAt: number;
}

export interface StorageUsageWire {
  usedBytes: number;
  quotaBytes: number;
  plan: StoragePlan;
  addonBytes: number;
  locked: boolean;
}

export interface DeletedAssetWire {
  token: string;
  deleted: boolean;
}

export function assetWire({ token, size, uploadedAt }: ListedAsset): AssetWire {
  return { encryptedFilename: token, sizeBytes: size, uploadedAt: uploadedAt.getTime() };
}

export function storageUsageWire(usage: StorageUsage): StorageUsageWire {
  const { usedBytes, quotaBytes, plan, addonBytes, locked } = usage;
  return { usedBytes, quotaBytes, plan, addonBytes, locked };
}

/** In the order in which they were asked for. */
export function deletedAssetsWire(tokens: string[], deleted: Set<string>): DeletedAssetWire[] {
  return tokens.map((token) => ({ token, deleted: deleted.has(token) }));
}
