export type { PastContent } from './past-contents.js';
export type { PastFile, PastState } from './past-state.js';
export { type DeletedFile, type FileVersion, type NamedCheckpoint, VaultHistory } from './vault-history.js';
