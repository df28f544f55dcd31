export { clampTextLimit } from './limits.js';
export { type Change, Sync } from './sync.service.js';
export { SyncModule } from './sync.module.js';
