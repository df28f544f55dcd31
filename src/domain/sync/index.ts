export { clampTextLimit } from './sync.dto.js';
export { type Change, ChangeLogReader } from './change-log-reader.js';
export { SyncModule } from './sync.module.js';
