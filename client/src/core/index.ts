/**
 * Client of an end-to-end encrypted sync service, for Node.js and browsers: sessions, vaults, the contents of a workspace
 * and its live room.
 */
export * from './api/index.js';
export * from './crypto/index.js';
export * from './history/index.js';
export * from './http/index.js';
export * from './live-room/index.js';
export * from './rotation/index.js';
export * from './vault/index.js';
export * from './workspace/index.js';
