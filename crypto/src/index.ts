export {
  areEqual,
  type Bytes,
  fromBase64,
  fromBase64url,
  fromHex,
  toBase64,
  toBase64url,
  toHex,
} from './bytes.js';
export {
  contentCipherParts,
  decryptAsset,
  decryptContent,
  decryptLabel,
  encryptAsset,
  encryptContent,
  encryptLabel,
} from './contents.js';
export { ENVELOPE_FORM, ENVELOPE_OVERHEAD, type FixedRandomness } from './envelope.js';
export {
  DecryptionError,
  InvalidPathError,
  isUnopened,
  type KdfRefusal,
  KdfRefused,
  RecoveryKeyTypo,
} from './errors.js';
export { contentHash, type HeldKey, sha256 } from './hash.js';
export {
  type KeySlotKind,
  makePasskeySlot,
  makePasswordSlot,
  makeRecoverySlot,
  openPasskeySlot,
  openPasswordSlot,
  openRecoverySlot,
  type Passkey,
  passkeyOf,
  type SealedSlot,
} from './key-slots.js';
export {
  decryptAssetName,
  decryptPath,
  encryptAssetName,
  encryptPath,
  MAX_ASSET_TOKEN,
  MAX_ENCRYPTED_PATH,
  normalizePath,
} from './names.js';
export { checkPasswordKdf, KDF_BOUNDS, newPasswordKdf, type PasswordKdf } from './password-kdf.js';
export {
  formatRecoveryKey,
  generateRecoveryKey,
  parseRecoveryKey,
  RECOVERY_KEY_BYTES,
} from './recovery-key.js';
export { isUuid } from './uuid.js';
export {
  deriveMasterKey,
  deriveSubkeys,
  deriveVaultKeys,
  newMasterKey,
  type VaultKeys,
  verificationHash,
} from './vault-keys.js';
export type { SlotPlace, StoredSlot } from './wrapped-key.js';
