export { AssetsModule } from './assets.module.js';
export { StorageQuota, type StorageUsage } from './storage-quota.js';
