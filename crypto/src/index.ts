/**
 * The cryptography of vaults, for the service and for clients: how keys, paths, contents, labels and assets become what the service
 * stores. Without I/O, in Node.js and browsers. The format is specified in docs/guide/encryption.md and pinned by the vectors in
 * test/kit/vectors: changing one byte here locks users out of what they have stored.
 */
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
export type { Aead, AeadBox, Argon2id, Argon2idCost, Argon2idInput, Hkdf, Primitives } from './primitives.js';
export {
  ENVELOPE_FORM,
  ENVELOPE_OVERHEAD,
  type EnvelopeKey,
  envelopeKey,
  type FixedRandomness,
} from './envelope.js';
export {
  DecryptionError,
  InvalidPathError,
  isUnopened,
  type KdfRefusal,
  KdfRefused,
  RecoveryKeyTypo,
} from './errors.js';
export { contentHash, type HeldKey, type HkdfParameters, sha256 } from './hash.js';
export {
  checkKdf,
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
  MASTER_KEY_KDF,
  newMasterKey,
  type VaultKeys,
  verificationHash,
} from './vault-keys.js';
export { isWrappedKey, type SlotPlace, type StoredSlot } from './wrapped-key.js';
