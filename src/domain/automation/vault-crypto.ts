/**
 * The client's cryptography: how paths, contents, labels and assets become what the service stores. Pure functions without I/O,
 * so that any client can copy this file. The format is specified in docs/guide/encryption.md and pinned by
 * test/kit/vectors/vault-crypto.json: changing one byte here locks users out of what they have stored.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  type DecipherGCM,
  pbkdf2,
  randomBytes,
} from 'node:crypto';
import { promisify } from 'node:util';
import { aessiv } from '@noble/ciphers/aes.js';

/** How the master key is derived from a password, in a form that can be sent to a client. */
export const KDF = {
  name: 'PBKDF2-HMAC-SHA256',
  iterations: 600_000,
  passwordEncoding: 'UTF-8 NFKC',
  keyBytes: 32,
} as const;

/** Bytes that an envelope adds to its plaintext: version 1, salt 32, nonce 12, tag 16. */
export const ENVELOPE_OVERHEAD = 61;

/** Longest encrypted path that the service accepts, in characters: a path of 3,056 bytes of UTF-8. */
export const MAX_ENCRYPTED_PATH = 4_096;

/** Longest asset token that the service accepts, in characters: a name of 752 bytes of UTF-8. */
export const MAX_ASSET_TOKEN = 1_024;

const VERSION = 0x01;
const SALT_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + SALT_BYTES + NONCE_BYTES;
const NOTHING = Buffer.alloc(0);

/** A range of bytes in a file; both ends are inclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** The five keys of a vault. Anyone who holds them can read and write everything in it. */
export interface VaultKeys {
  /** 64 bytes, AES-256-SIV */
  readonly path: Buffer;
  /** 32 bytes, from which each envelope derives its own key */
  readonly content: Buffer;
  /** 32 bytes, used like `content` */
  readonly label: Buffer;
  /** 64 bytes, AES-256-SIV */
  readonly assetName: Buffer;
  /** 32 bytes, used like `content` */
  readonly asset: Buffer;
}

/** Fixes the random parts of an envelope. For test vectors only: using a pair twice with one key reveals both texts. */
export interface FixedRandomness {
  /** 32 bytes */
  readonly salt: Uint8Array;
  /** 12 bytes */
  readonly nonce: Uint8Array;
}

/** The bytes cannot be decrypted: wrong key, altered, moved to another path, truncated or of an unknown version. */
export class DecryptionError extends Error {
  override readonly name = 'DecryptionError';
}

/** A path or name that a vault cannot store. The message gives the reason without repeating the path. */
export class InvalidPathError extends Error {
  override readonly name = 'InvalidPathError';
}

/**
 * Derives the master key of a vault: 32 bytes. Takes a fraction of a second, off the event loop. Passwords are
 * normalized to Unicode NFKC, so passwords that look the same are the same.
 *
 * @param encryptionSaltHex 64 hex characters, as stored in the workspace
 * @throws RangeError when the salt is not 32 bytes in hex
 */
export async function deriveMasterKey(password: string, encryptionSaltHex: string): Promise<Buffer> {
  const salt = bytesOfHex(encryptionSaltHex);
  if (salt.length !== 32) throw new RangeError('encryptionSalt must be 32 bytes in hex');
  return pbkdf2Async(password.normalize('NFKC'), salt, KDF.iterations, KDF.keyBytes, 'sha256');
}

/** Derives the keys of the vault. @throws RangeError when the master key is not 32 bytes */
export function deriveVaultKeys(masterKey: Uint8Array): VaultKeys {
  checkMasterKey(masterKey);
  return {
    path: hkdf(masterKey, NOTHING, 'path', 64),
    content: hkdf(masterKey, NOTHING, 'content', 32),
    label: hkdf(masterKey, NOTHING, 'label', 32),
    assetName: hkdf(masterKey, NOTHING, 'asset-name', 64),
    asset: hkdf(masterKey, NOTHING, 'asset', 32),
  };
}

/**
 * The value that the service compares to check a password: 64 lower-case hex characters. It reveals nothing about the keys,
 * and can be computed from a master key without the password.
 *
 * @param verificationSaltHex hex, 16 to 64 bytes
 * @throws RangeError when the salt is not hex or the master key is not 32 bytes
 */
export function verificationHash(masterKey: Uint8Array, verificationSaltHex: string): string {
  checkMasterKey(masterKey);
  return contentHash(hkdf(masterKey, bytesOfHex(verificationSaltHex), 'verification', 32));
}

/** SHA-256 in lower-case hex: the `X-Content-Hash` of an envelope. */
export function contentHash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * Normalizes a path to the vault's form: NFC, segments separated by `/`. A valid path names something below a folder,
 * on every system whose only separator is `/`.
 *
 * @throws InvalidPathError when it is empty, starts or ends with `/`, or has an empty, `.` or `..` segment, a control
 * character or an unpaired surrogate
 */
export function normalizePath(path: string): string {
  const normal = path.normalize('NFC');
  if (normal === '') throw new InvalidPathError('the path is empty');
  if (/\p{Cc}/u.test(normal)) throw new InvalidPathError('the path contains a control character');
  // UTF-8 encodes every unpaired surrogate as U+FFFD, so two names would become one.
  if (/\p{Cs}/u.test(normal)) throw new InvalidPathError('the path is not well-formed Unicode');
  for (const segment of normal.split('/')) {
    if (segment === '') throw new InvalidPathError('the path contains an empty segment');
    if (segment === '.' || segment === '..')
      throw new InvalidPathError('the path contains a . or .. segment');
  }
  return normal;
}

/**
 * Encrypts a path to its stored form: base64url without padding. Deterministic, so a path has exactly one name.
 *
 * @throws InvalidPathError as normalizePath, and when the result is longer than MAX_ENCRYPTED_PATH
 */
export function encryptPath(keys: VaultKeys, path: string): string {
  return sealName(keys.path, path, MAX_ENCRYPTED_PATH);
}

/**
 * Decrypts `encryptedPath` to a path in NFC. The result satisfies the rules of normalizePath, and encrypting it gives
 * `encryptedPath` again.
 *
 * @throws DecryptionError when it cannot be decrypted
 * @throws InvalidPathError when it decrypts to a path that breaks the rules, which a careless or hostile client may
 * have stored
 */
export function decryptPath(keys: VaultKeys, encryptedPath: string): string {
  return openName(keys.path, encryptedPath);
}

/**
 * Encrypts a file's content into an envelope that is ENVELOPE_OVERHEAD bytes longer than `plaintext`. Two calls never
 * return the same bytes. The envelope is bound to this path, so renaming a file means encrypting it again.
 *
 * @throws InvalidPathError when `encryptedPath` is not a result of encryptPath, for example a plaintext path
 */
export function encryptContent(
  keys: VaultKeys,
  encryptedPath: string,
  plaintext: Uint8Array,
  fixed?: FixedRandomness,
): Buffer {
  return sealEnvelope(keys.content, plaintext, boundTo(encryptedPath), fixed);
}

/**
 * Decrypts an envelope that was made for `encryptedPath`.
 *
 * @throws DecryptionError when it cannot be decrypted for this path
 * @throws InvalidPathError as encryptContent
 */
export function decryptContent(keys: VaultKeys, encryptedPath: string, envelope: Uint8Array): Buffer {
  return openEnvelope(keys.content, envelope, boundTo(encryptedPath));
}

/**
 * The positions of the parts of an envelope of this size; both ends are inclusive.
 * @throws DecryptionError when it is too short
 */
export function envelopeParts(size: number): Record<'header' | 'ciphertext' | 'tag', ByteRange> {
  if (size < ENVELOPE_OVERHEAD) throw new DecryptionError('the envelope is too short');
  const tag = size - TAG_BYTES;
  return {
    header: { start: 0, end: HEADER_BYTES - 1 },
    ciphertext: { start: HEADER_BYTES, end: tag - 1 },
    tag: { start: tag, end: size - 1 },
  };
}

/**
 * Decrypts content chunk by chunk, for content that is too large to hold in memory. Danger: no chunk is authenticated
 * before `final` has returned, so the output of a first pass must not be shown to anyone.
 * @throws DecryptionError when the header is malformed
 */
export function contentDecipher(
  keys: VaultKeys,
  encryptedPath: string,
  { header, tag }: { readonly header: Uint8Array; readonly tag: Uint8Array },
): DecipherGCM {
  return decipherOf(keys.content, Buffer.concat([header, tag]), boundTo(encryptedPath));
}

/** Encrypts a checkpoint's label to its stored form: the envelope in base64. */
export function encryptLabel(keys: VaultKeys, label: string, fixed?: FixedRandomness): string {
  return sealEnvelope(keys.label, Buffer.from(label, 'utf8'), NOTHING, fixed).toString('base64');
}

/** @throws DecryptionError when it is not base64, cannot be decrypted or is not UTF-8 */
export function decryptLabel(keys: VaultKeys, encryptedLabel: string): string {
  return textOf(openEnvelope(keys.label, bytesOfBase64(encryptedLabel, 'base64'), NOTHING));
}

/**
 * Encrypts an asset's file name to its stored form: the token in the asset routes.
 *
 * @throws InvalidPathError as encryptPath, and when the result is longer than MAX_ASSET_TOKEN
 */
export function encryptAssetName(keys: VaultKeys, name: string): string {
  return sealName(keys.assetName, name, MAX_ASSET_TOKEN);
}

/** @throws DecryptionError and InvalidPathError as decryptPath */
export function decryptAssetName(keys: VaultKeys, token: string): string {
  return openName(keys.assetName, token);
}

/** Encrypts an asset. The envelope is not bound to the name, because renaming an asset does not touch its bytes. */
export function encryptAsset(keys: VaultKeys, plaintext: Uint8Array, fixed?: FixedRandomness): Buffer {
  return sealEnvelope(keys.asset, plaintext, NOTHING, fixed);
}

/** @throws DecryptionError when the envelope cannot be decrypted */
export function decryptAsset(keys: VaultKeys, envelope: Uint8Array): Buffer {
  return openEnvelope(keys.asset, envelope, NOTHING);
}

/**
 * Version, salt, nonce, ciphertext, tag. Each envelope has its own key, so random nonces never approach their safe
 * limit.
 *
 * @param associated the data to which the envelope is bound: it opens only with the same bytes
 */
export function sealEnvelope(
  key: Buffer,
  plaintext: Uint8Array,
  associated: Buffer,
  fixed?: FixedRandomness,
): Buffer {
  const salt = fixed?.salt ?? randomBytes(SALT_BYTES);
  const nonce = fixed?.nonce ?? randomBytes(NONCE_BYTES);
  if (salt.length !== SALT_BYTES || nonce.length !== NONCE_BYTES) {
    throw new RangeError('salt must be 32 bytes and nonce 12');
  }

  const envelopeKey = hkdf(key, salt, '', 32);
  const cipher = createCipheriv('aes-256-gcm', envelopeKey, nonce, { authTagLength: TAG_BYTES });
  envelopeKey.fill(0); // the cipher has its own copy, which is freed with it
  cipher.setAAD(associated);
  const ciphertext = cipher.update(plaintext);
  cipher.final(); // returns no bytes in this mode, but the tag is unavailable before it
  return Buffer.concat([Buffer.of(VERSION), salt, nonce, ciphertext, cipher.getAuthTag()]);
}

/** @throws DecryptionError when the envelope was not made with this key and associated data, or was altered */
export function openEnvelope(key: Buffer, envelope: Uint8Array, associated: Buffer): Buffer {
  const cipher = decipherOf(key, envelope, associated);
  const plaintext = cipher.update(envelope.subarray(HEADER_BYTES, -TAG_BYTES));
  try {
    cipher.final(); // verifies the tag: return nothing before this
  } catch (cause) {
    plaintext.fill(0); // it is genuine plaintext if the envelope was moved from another path
    throw new DecryptionError('the envelope does not open: wrong key, altered or of another path', { cause });
  }
  return plaintext;
}

function decipherOf(key: Buffer, envelope: Uint8Array, associated: Buffer): DecipherGCM {
  if (envelope.length < ENVELOPE_OVERHEAD) throw new DecryptionError('the envelope is too short');
  if (envelope[0] !== VERSION) throw new DecryptionError('the envelope has an unknown version');
  const salt = envelope.subarray(1, 1 + SALT_BYTES);
  const nonce = envelope.subarray(1 + SALT_BYTES, HEADER_BYTES);

  const envelopeKey = hkdf(key, salt, '', 32);
  const cipher = createDecipheriv('aes-256-gcm', envelopeKey, nonce, { authTagLength: TAG_BYTES });
  envelopeKey.fill(0);
  cipher.setAAD(associated);
  cipher.setAuthTag(envelope.subarray(-TAG_BYTES));
  return cipher;
}

function sealName(key: Buffer, name: string, maxLength: number): string {
  const plaintext = Buffer.from(normalizePath(name), 'utf8');
  const sealed = Buffer.from(aessiv(key).encrypt(plaintext)).toString('base64url');
  if (sealed.length > maxLength) throw new InvalidPathError('the path is too long');
  return sealed;
}

function openName(key: Buffer, sealed: string): string {
  const bytes = bytesOfBase64(sealed, 'base64url');
  let plaintext: Uint8Array;
  try {
    plaintext = aessiv(key).decrypt(bytes);
  } catch (cause) {
    throw new DecryptionError('the path does not open: wrong key or altered', { cause });
  }
  const name = textOf(plaintext);
  if (normalizePath(name) !== name) throw new InvalidPathError('the path is not in NFC');
  return name;
}

/** The associated data of a content. Accepting only base64url catches a plaintext path passed by mistake. */
function boundTo(encryptedPath: string): Buffer {
  if (!/^[A-Za-z0-9_-]+$/.test(encryptedPath)) throw new InvalidPathError('not an encrypted path');
  return Buffer.from(encryptedPath, 'ascii');
}

/**
 * RFC 5869 with SHA-256, for up to 64 bytes. Not `hkdfSync`, which leaves a copy of the key in memory until garbage collection.
 */
export function hkdf(key: Uint8Array, salt: Uint8Array, info: string, length: 32 | 64): Buffer {
  const extracted = hmac(salt, key);
  const first = hmac(extracted, Buffer.from(info), Buffer.of(1));
  const second = hmac(extracted, first, Buffer.from(info), Buffer.of(2));
  const expanded = Buffer.alloc(length); // not Buffer.concat, whose result may share its memory with other buffers
  first.copy(expanded);
  second.copy(expanded, first.length);
  for (const used of [extracted, first, second]) used.fill(0);
  return expanded;
}

function hmac(key: Uint8Array, ...parts: Uint8Array[]): Buffer {
  const code = createHmac('sha256', key);
  for (const part of parts) code.update(part);
  return code.digest();
}

/**
 * Accepts only canonical base64: Node decodes more than that, and a name must not have two spellings.
 * @throws DecryptionError for any other text
 */
export function bytesOfBase64(text: unknown, encoding: 'base64' | 'base64url'): Buffer {
  // A service may return anything, and Buffer.from allocates as much as the `length` of an object says.
  if (typeof text !== 'string') throw new DecryptionError(`not ${encoding}`);
  const bytes = Buffer.from(text, encoding);
  if (bytes.toString(encoding) !== text) throw new DecryptionError(`not canonical ${encoding}`);
  return bytes;
}

function bytesOfHex(hex: string): Buffer {
  if (!/^([0-9a-f]{2})+$/i.test(hex)) throw new RangeError('not hex');
  return Buffer.from(hex, 'hex');
}

function textOf(bytes: Uint8Array): string {
  try {
    // ignoreBOM keeps a leading U+FEFF, which would otherwise vanish and change the name.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new DecryptionError('the text is not UTF-8', { cause });
  }
}

function checkMasterKey(masterKey: Uint8Array): void {
  if (masterKey.length !== KDF.keyBytes) throw new RangeError('the master key must be 32 bytes');
}

const pbkdf2Async = promisify(pbkdf2);
