import { type Bytes, fromHex, randomBytes, utf8 } from './bytes.js';
import { PRIMITIVES, type Primitives } from './primitives.js';
import type { EnvelopeKey } from './envelope.js';
import { contentHash, type HeldKey, hkdfKey } from './hash.js';

/** How a master key is derived from a password, in a form that can be sent to a client. */
export const MASTER_KEY_KDF = {
  name: 'PBKDF2-HMAC-SHA256',
  iterations: 600_000,
  passwordEncoding: 'UTF-8 NFKC',
  keyBytes: 32,
} as const;

const MASTER_KEY_BYTES = MASTER_KEY_KDF.keyBytes;

/** The keys of a vault. Anyone who holds them can read and write everything in it. */
export interface VaultKeys<Key extends EnvelopeKey = HeldKey> {
  /** 64 bytes, for AES-256-SIV */
  readonly path: Bytes;
  /** Each envelope derives its own key from this one; the same goes for `label` and `asset`. */
  readonly content: Key;
  readonly label: Key;
  /** 64 bytes, for AES-256-SIV */
  readonly assetName: Bytes;
  readonly asset: Key;
}

/** A new master key: 32 random bytes. */
export const newMasterKey = (): Bytes => randomBytes(MASTER_KEY_BYTES);

/**
 * Derives the master key of a vault without password slots, by PBKDF2. The password is normalized to Unicode NFKC.
 * @param encryptionSalt 32 bytes in hex, as stored in the workspace
 * @throws RangeError for another salt, before any work is done
 */
export async function deriveMasterKey(
  password: string,
  encryptionSalt: string,
  { pbkdf2 }: Pick<Primitives, 'pbkdf2'> = PRIMITIVES,
): Promise<Bytes> {
  const salt = fromHex(encryptionSalt);
  if (salt.length !== 32) throw new RangeError('encryptionSalt must be 32 bytes in hex');
  const bytes = utf8(password.normalize('NFKC'));
  try {
    return await pbkdf2(bytes, salt, MASTER_KEY_KDF.iterations);
  } finally {
    bytes.fill(0);
  }
}

/** The bytes of the five keys, which the caller wipes. @throws RangeError unless the master key has 32 bytes */
export async function deriveSubkeys(
  masterKey: Uint8Array,
  { hkdf }: Pick<Primitives, 'hkdf'> = PRIMITIVES,
): Promise<Record<keyof VaultKeys, Bytes>> {
  checkMasterKey(masterKey);
  const [path, content, label, assetName, asset] = await Promise.all([
    hkdf(masterKey, { info: 'path', length: 64 }),
    hkdf(masterKey, { info: 'content', length: 32 }),
    hkdf(masterKey, { info: 'label', length: 32 }),
    hkdf(masterKey, { info: 'asset-name', length: 64 }),
    hkdf(masterKey, { info: 'asset', length: 32 }),
  ]);
  return { path, content, label, assetName, asset };
}

/** Derives the keys of a vault. @throws RangeError unless the master key has 32 bytes */
export async function deriveVaultKeys(masterKey: Uint8Array): Promise<VaultKeys> {
  const { path, assetName, ...bytes } = await deriveSubkeys(masterKey);
  const held = [bytes.content, bytes.label, bytes.asset].map(async (key) => {
    const imported = await hkdfKey(key);
    key.fill(0);
    return imported;
  });
  const [content, label, asset] = (await Promise.all(held)) as [HeldKey, HeldKey, HeldKey];
  return { path, content, label, assetName, asset };
}

/**
 * Proves to the service that the client knows the master key, without revealing it: 64 hex characters.
 * @param verificationSalt in hex
 * @throws RangeError unless the salt is hex and the master key has 32 bytes
 */
export async function verificationHash(
  masterKey: Uint8Array,
  verificationSalt: string,
  { hkdf }: Pick<Primitives, 'hkdf'> = PRIMITIVES,
): Promise<string> {
  const salt = fromHex(verificationSalt);
  checkMasterKey(masterKey);
  return contentHash(await hkdf(masterKey, { salt, info: 'verification', length: 32 }));
}

function checkMasterKey(masterKey: Uint8Array): void {
  if (masterKey.length !== MASTER_KEY_BYTES) throw new RangeError('the master key must be 32 bytes');
}
