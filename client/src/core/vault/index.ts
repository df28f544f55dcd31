export type { KeySlot } from './key-slots.js';
export type { PasswordChange, PasswordChanged } from './password.js';
export type { RecoveryDraft } from './recovery.js';
export { type Secret, SlotsHidden, WrongSecret } from './unlock.js';
export { type UnlockOptions, Vault } from './vault.js';
