export { AssetsModule } from './assets.module.js';
export { STORAGE_USAGE } from './assets.docs.js';
export { storageUsageWire, type StorageUsageWire } from './assets.wire.js';
export { StorageQuota, type StorageUsage } from './storage-quota.js';
