export { AssetsModule } from './assets.module.js';
export { type StorageDrift, StorageQuota, type StorageUsage } from './storage-quota.js';
