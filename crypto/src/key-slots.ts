import { type Bytes, fromBase64url, utf8 } from './bytes.js';
import type { FixedRandomness } from './envelope.js';
import { DecryptionError, KdfRefused } from './errors.js';
import { PRIMITIVES, type Primitives } from './primitives.js';
import {
  checkPasswordKdf,
  derivePasswordKek,
  newPasswordKdf,
  objectOf,
  type PasswordKdf,
  requireKeys,
} from './password-kdf.js';
import { checkInput, type SlotPlace, type StoredSlot, unwrap, wrap, wrappedBytes } from './wrapped-key.js';

/** What opens a slot. */
export type KeySlotKind = 'password' | 'recovery' | 'passkey';

/** The passkey to ask for, and the salt of its PRF. */
export interface Passkey {
  /** base64url of 1 to 512 bytes */
  readonly credentialId: string;
  /** 32 bytes in lower-case hex */
  readonly prfSalt: string;
}

/** A slot as stored, without its label and proof. */
export interface SealedSlot {
  readonly kind: KeySlotKind;
  readonly kdf: Readonly<Record<string, unknown>>;
  /** base64 of an envelope of 93 bytes */
  readonly wrappedKey: string;
}

const HKDF = 'hkdf-sha256';

/**
 * Makes a slot that opens with a password. @param kdf parameters with a new salt
 * @throws RangeError for an empty password, a master key that is not 32 bytes or a malformed place; KdfRefused for
 * parameters that no reader accepts; both before any work is done
 */
export async function makePasswordSlot(
  place: SlotPlace,
  masterKey: Uint8Array,
  password: string,
  kdf: PasswordKdf = newPasswordKdf(),
  fixed?: FixedRandomness,
): Promise<SealedSlot> {
  if (password === '') throw new RangeError('the password must not be empty');
  checkInput(place, masterKey, 'the master key');
  const wrappedKey = await wrap(await derivePasswordKek(password, kdf), place, masterKey, PRIMITIVES, fixed);
  return { kind: 'password', kdf: { ...kdf }, wrappedKey };
}

/**
 * Opens a password slot and returns the master key, which the caller wipes.
 * @throws KdfRefused for parameters that must not be used, and DecryptionError for a malformed wrapped key, both before any
 * work is done; DecryptionError for a wrong password, another place or an altered slot
 */
export async function openPasswordSlot(
  place: SlotPlace,
  slot: StoredSlot,
  password: string,
  primitives: Primitives = PRIMITIVES,
): Promise<Bytes> {
  const wrapped = wrappedBytes(place, slot);
  if (password === '') throw new DecryptionError('no key slot opens with an empty password');
  return unwrap(await derivePasswordKek(password, slot.kdf, primitives), place, wrapped, primitives);
}

/** Makes a slot that opens with a recovery key. @throws RangeError unless both keys have 32 bytes, in a valid place */
export async function makeRecoverySlot(
  place: SlotPlace,
  masterKey: Uint8Array,
  recoveryKey: Uint8Array,
  fixed?: FixedRandomness,
): Promise<SealedSlot> {
  checkInput(place, masterKey, 'the master key');
  const kek = await randomSecretKek(place, recoveryKey, 'recovery', PRIMITIVES);
  return {
    kind: 'recovery',
    kdf: { name: HKDF },
    wrappedKey: await wrap(kek, place, masterKey, PRIMITIVES, fixed),
  };
}

/**
 * Opens a recovery slot and returns the master key, which the caller wipes.
 * @throws KdfRefused for an unknown `kdf`; DecryptionError for a key of another slot or an altered slot
 */
export async function openRecoverySlot(
  place: SlotPlace,
  slot: StoredSlot,
  recoveryKey: Uint8Array,
  primitives: Pick<Primitives, 'hkdf' | 'aead'> = PRIMITIVES,
): Promise<Bytes> {
  const wrapped = wrappedBytes(place, slot);
  checkHkdf(slot.kdf, []);
  return unwrap(
    await randomSecretKek(place, recoveryKey, 'recovery', primitives),
    place,
    wrapped,
    primitives,
  );
}

/**
 * Makes a slot that opens with a passkey. @param prfOutput the passkey's WebAuthn `prf` result for `prfSalt`
 * @throws RangeError unless both keys have 32 bytes, in a valid place; KdfRefused for a malformed passkey
 */
export async function makePasskeySlot(
  place: SlotPlace,
  masterKey: Uint8Array,
  prfOutput: Uint8Array,
  { credentialId, prfSalt }: Passkey,
  fixed?: FixedRandomness,
): Promise<SealedSlot> {
  checkInput(place, masterKey, 'the master key');
  const kdf = { name: HKDF, credentialId, prfSalt };
  passkeyOf(kdf);
  const kek = await randomSecretKek(place, prfOutput, 'passkey', PRIMITIVES);
  return { kind: 'passkey', kdf, wrappedKey: await wrap(kek, place, masterKey, PRIMITIVES, fixed) };
}

/**
 * Opens a passkey slot and returns the master key, which the caller wipes.
 * @throws KdfRefused for a malformed `kdf`; DecryptionError for the output of another passkey or an altered slot
 */
export async function openPasskeySlot(
  place: SlotPlace,
  slot: StoredSlot,
  prfOutput: Uint8Array,
): Promise<Bytes> {
  const wrapped = wrappedBytes(place, slot);
  passkeyOf(slot.kdf);
  return unwrap(await randomSecretKek(place, prfOutput, 'passkey', PRIMITIVES), place, wrapped, PRIMITIVES);
}

/**
 * Derives nothing. The service stores no slot for which this throws: a reader would have to refuse it.
 * @throws KdfRefused unless readers accept `kdf` for a slot of this kind
 */
export function checkKdf(kind: KeySlotKind, kdf: unknown): void {
  if (kind === 'password') checkPasswordKdf(kdf);
  else if (kind === 'passkey') passkeyOf(kdf);
  else checkHkdf(kdf, []);
}

/** The passkey of a slot. @throws KdfRefused when `kdf` is not a passkey's, or has additional keys */
export function passkeyOf(kdf: unknown): Passkey {
  const { credentialId, prfSalt } = checkHkdf(kdf, ['credentialId', 'prfSalt']);
  if (typeof prfSalt !== 'string' || !/^[0-9a-f]{64}$/.test(prfSalt)) throw new KdfRefused('malformed');
  if (typeof credentialId !== 'string' || !isCredentialId(credentialId)) throw new KdfRefused('malformed');
  return { credentialId, prfSalt };
}

function isCredentialId(text: string): boolean {
  if (text.length > 683) return false;
  try {
    return fromBase64url(text).length > 0;
  } catch {
    return false;
  }
}

function checkHkdf(kdf: unknown, otherKeys: readonly string[]): Readonly<Record<string, unknown>> {
  const given = objectOf(kdf);
  requireKeys(given, ['name', ...otherKeys]);
  if (given['name'] !== HKDF) throw new KdfRefused('malformed');
  return given;
}

/** Derives the KEK from 32 unguessable bytes. */
async function randomSecretKek(
  place: SlotPlace,
  secret: Uint8Array,
  info: 'recovery' | 'passkey',
  { hkdf }: Pick<Primitives, 'hkdf'>,
): Promise<Bytes> {
  checkInput(place, secret, info === 'recovery' ? 'the recovery key' : 'the PRF output');
  return hkdf(secret, { salt: utf8(place.workspaceId), info, length: 32 });
}
