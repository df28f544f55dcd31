/**
 * The client's cryptography of key slots: the master key of a vault, encrypted under a password, a recovery key or a passkey.
 * Pure functions without I/O, to be copied together with vault-crypto.ts, key-slot-kdf.ts, argon2id.ts and recovery-key.ts. The
 * format is specified in docs/guide/encryption.md and pinned by test/kit/vectors/key-slots.json: changing one byte here
 * locks users out of their vaults.
 */
import {
  checkPasswordKdf,
  derivePasswordKek,
  KdfRefused,
  newPasswordKdf,
  objectOf,
  type PasswordKdf,
  requireKeys,
  requireMatch,
} from './key-slot-kdf.js';
import { RECOVERY_KEY_BYTES } from './recovery-key.js';
import {
  bytesOfBase64,
  DecryptionError,
  ENVELOPE_OVERHEAD,
  type FixedRandomness,
  hkdf,
  openEnvelope,
  sealEnvelope,
} from './vault-crypto.js';

export {
  checkPasswordKdf,
  KDF_BOUNDS,
  KdfRefused,
  type KdfRefusal,
  newPasswordKdf,
  type PasswordKdf,
} from './key-slot-kdf.js';
export { formatRecoveryKey, generateRecoveryKey, parseRecoveryKey, RecoveryKeyTypo } from './recovery-key.js';

/** The kind of secret that opens a slot. */
export type KeySlotKind = 'password' | 'recovery' | 'passkey';

/** `kdf` of a recovery slot. It has no parameters: the recovery key has enough entropy. */
export interface RecoveryKdf {
  readonly name: 'hkdf-sha256';
}

/** `kdf` of a passkey slot: which passkey to ask for, and the salt of its PRF. */
export interface PasskeyKdf {
  readonly name: 'hkdf-sha256';
  /** base64url without padding, at most 512 bytes */
  readonly credentialId: string;
  /** 32 bytes in lower-case hex */
  readonly prfSalt: string;
}

/** The location of a slot. A wrapped key opens in no other location. */
export interface SlotPlace {
  /** lower-case uuid */
  readonly workspaceId: string;
  /** lower-case uuid, made by the client */
  readonly slotId: string;
}

/** The stored parts of a slot, without its label and the proof. */
export interface SealedSlot {
  readonly kind: KeySlotKind;
  readonly kdf: Readonly<Record<string, unknown>>;
  /** base64 of an envelope of 93 bytes */
  readonly wrappedKey: string;
}

/** The parts of a slot that are needed to open it, as the service returned them: untrusted. */
export interface StoredSlot {
  readonly kdf: unknown;
  readonly wrappedKey: string;
}

const MASTER_KEY_BYTES = 32;
const PRF_BYTES = 32;
const WRAPPED_BYTES = MASTER_KEY_BYTES + ENVELOPE_OVERHEAD;
const NO_SALT = Buffer.alloc(0);
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const CREDENTIAL_ID = /^[A-Za-z0-9_-]{1,683}$/;
const HKDF = /^hkdf-sha256$/;
const PRF_SALT = /^[0-9a-f]{64}$/;
/** 93 bytes fill 124 characters, without padding. */
const WRAPPED_KEY = /^[A-Za-z0-9+/]{124}$/;

/**
 * Makes a slot that opens with a password.
 *
 * @param kdf parameters with a new salt; a salt is never used twice
 * @throws RangeError for an empty password, a master key that is not 32 bytes or a malformed place; KdfRefused for
 * parameters that no reader accepts
 */
export async function makePasswordSlot(
  place: SlotPlace,
  masterKey: Uint8Array,
  password: string,
  kdf: PasswordKdf = newPasswordKdf(),
  fixed?: FixedRandomness,
): Promise<SealedSlot> {
  if (password === '') throw new RangeError('the password must not be empty');
  checkInput(place, masterKey, MASTER_KEY_BYTES, 'the master key');
  const kek = await derivePasswordKek(password, kdf);
  return { kind: 'password', kdf: { ...kdf }, wrappedKey: wrap(kek, place, masterKey, fixed) };
}

/**
 * Opens a password slot: returns the master key, which the caller wipes.
 *
 * @throws KdfRefused for parameters that must not be used, and DecryptionError for a wrapped key of another form, both
 * before any work is done; DecryptionError for a wrong password, another place or an altered slot
 */
export async function openPasswordSlot(
  place: SlotPlace,
  slot: StoredSlot,
  password: string,
): Promise<Buffer> {
  const wrapped = wrappedBytes(place, slot.wrappedKey);
  if (password === '') throw new DecryptionError('no key slot opens with an empty password');
  return unwrap(await derivePasswordKek(password, slot.kdf), place, wrapped);
}

/**
 * Makes a slot that opens with a recovery key.
 * @throws RangeError unless both keys are 32 bytes and the place is well-formed
 */
export function makeRecoverySlot(
  place: SlotPlace,
  masterKey: Uint8Array,
  recoveryKey: Uint8Array,
  fixed?: FixedRandomness,
): SealedSlot {
  checkInput(place, masterKey, MASTER_KEY_BYTES, 'the master key');
  const kek = recoveryKek(place, recoveryKey);
  const kdf = { name: 'hkdf-sha256' } satisfies RecoveryKdf;
  return { kind: 'recovery', kdf, wrappedKey: wrap(kek, place, masterKey, fixed) };
}

/**
 * Opens a recovery slot: returns the master key, which the caller wipes.
 * @throws KdfRefused for an unknown `kdf`; DecryptionError for a recovery key of another slot or an altered slot
 */
export function openRecoverySlot(place: SlotPlace, slot: StoredSlot, recoveryKey: Uint8Array): Buffer {
  const wrapped = wrappedBytes(place, slot.wrappedKey);
  checkHkdf(slot.kdf, []);
  return unwrap(recoveryKek(place, recoveryKey), place, wrapped);
}

/**
 * Makes a slot that opens with a passkey.
 *
 * @param prfOutput what the passkey returns for `prfSalt`, by the extension `prf` of WebAuthn
 * @throws RangeError unless both keys are 32 bytes and the place is well-formed; KdfRefused for a malformed passkey
 */
export function makePasskeySlot(
  place: SlotPlace,
  masterKey: Uint8Array,
  prfOutput: Uint8Array,
  passkey: Omit<PasskeyKdf, 'name'>,
  fixed?: FixedRandomness,
): SealedSlot {
  checkInput(place, masterKey, MASTER_KEY_BYTES, 'the master key');
  const kdf = checkPasskeyKdf({ name: 'hkdf-sha256', ...passkey });
  return {
    kind: 'passkey',
    kdf: { ...kdf },
    wrappedKey: wrap(passkeyKek(place, prfOutput), place, masterKey, fixed),
  };
}

/**
 * Opens a passkey slot: returns the master key, which the caller wipes.
 * @throws KdfRefused for a malformed `kdf`; DecryptionError for the output of another passkey or an altered slot
 */
export function openPasskeySlot(place: SlotPlace, slot: StoredSlot, prfOutput: Uint8Array): Buffer {
  const wrapped = wrappedBytes(place, slot.wrappedKey);
  checkPasskeyKdf(slot.kdf);
  return unwrap(passkeyKek(place, prfOutput), place, wrapped);
}

/**
 * Does no work. The service stores no slot for which this throws: a reader would have to refuse it.
 * @throws KdfRefused unless readers accept `kdf` for a slot of this kind
 */
export function checkKdf(kind: KeySlotKind, kdf: unknown): void {
  if (kind === 'password') checkPasswordKdf(kdf);
  else if (kind === 'passkey') checkPasskeyKdf(kdf);
  else checkHkdf(kdf, []);
}

/** Whether the text is base64 of as many bytes as a wrapped key has. */
export function isWrappedKey(text: unknown): text is string {
  return typeof text === 'string' && WRAPPED_KEY.test(text);
}

/** Returns `kdf` if it names a passkey and its salt. @throws KdfRefused for anything else, other keys included */
export function checkPasskeyKdf(kdf: unknown): PasskeyKdf {
  const given = checkHkdf(kdf, ['credentialId', 'prfSalt']);
  const { credentialId } = given;
  requireMatch(credentialId, CREDENTIAL_ID);
  // Other readers decode it and accept only one spelling of the same bytes.
  if (Buffer.from(credentialId as string, 'base64url').toString('base64url') !== credentialId)
    throw new KdfRefused('malformed');
  requireMatch(given['prfSalt'], PRF_SALT);
  return given as unknown as PasskeyKdf;
}

function checkHkdf(kdf: unknown, otherKeys: readonly string[]): Readonly<Record<string, unknown>> {
  const given = objectOf(kdf);
  requireMatch(given['name'], HKDF);
  requireKeys(given, ['name', ...otherKeys]);
  return given;
}

function recoveryKek(place: SlotPlace, recoveryKey: Uint8Array): Buffer {
  checkInput(place, recoveryKey, RECOVERY_KEY_BYTES, 'the recovery key');
  return hkdf(recoveryKey, Buffer.from(place.workspaceId, 'ascii'), 'recovery', 32);
}

function passkeyKek(place: SlotPlace, prfOutput: Uint8Array): Buffer {
  checkInput(place, prfOutput, PRF_BYTES, 'the PRF output');
  return hkdf(prfOutput, Buffer.from(place.workspaceId, 'ascii'), 'passkey', 32);
}

/** Wipes the key encryption key. */
function wrap(kek: Buffer, place: SlotPlace, masterKey: Uint8Array, fixed?: FixedRandomness): string {
  return withSlotKey(kek, (key) =>
    sealEnvelope(key, masterKey, associatedWith(place), fixed).toString('base64'),
  );
}

/** Wipes the key encryption key. */
function unwrap(kek: Buffer, place: SlotPlace, wrapped: Buffer): Buffer {
  return withSlotKey(kek, (key) => openEnvelope(key, wrapped, associatedWith(place)));
}

function withSlotKey<T>(kek: Buffer, use: (key: Buffer) => T): T {
  const key = hkdf(kek, NO_SALT, 'key-slot', 32);
  kek.fill(0);
  try {
    return use(key);
  } finally {
    key.fill(0);
  }
}

/** @throws DecryptionError unless the wrapped key and its place have the only form that can open */
function wrappedBytes(place: SlotPlace, wrappedKey: string): Buffer {
  if (!isPlace(place)) throw new DecryptionError('the ids of the key slot are not lower-case uuids');
  const bytes = bytesOfBase64(wrappedKey, 'base64');
  if (bytes.length !== WRAPPED_BYTES) throw new DecryptionError(`a wrapped key has ${WRAPPED_BYTES} bytes`);
  return bytes;
}

function associatedWith({ workspaceId, slotId }: SlotPlace): Buffer {
  return Buffer.from(`key-slot|${workspaceId}|${slotId}`, 'ascii');
}

function checkInput(place: SlotPlace, key: Uint8Array, length: number, name: string): void {
  if (!isPlace(place)) throw new RangeError('the ids of a key slot must be lower-case uuids');
  if (key.length !== length) throw new RangeError(`${name} must be ${length} bytes`);
}

const isPlace = ({ workspaceId, slotId }: SlotPlace): boolean => UUID.test(workspaceId) && UUID.test(slotId);
