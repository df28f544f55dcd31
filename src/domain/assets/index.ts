export { AssetsModule } from './assets.module.js';
export { STORAGE_USAGE, storageUsageWire, type StorageUsageWire } from './assets.docs.js';
export { StorageQuota, type StorageUsage } from './storage-quota.js';
