import { type Bytes, fromHex, randomBytes, utf8 } from './bytes.js';
import { contentHash, type HeldKey, hkdf, hkdfKey, pbkdf2 } from './hash.js';

const MASTER_KEY_BYTES = 32;
const ITERATIONS = 600_000;

/** The keys of a vault. Anyone who holds them can read and write everything in it. */
export interface VaultKeys {
  /** 64 bytes, for AES-256-SIV */
  readonly path: Bytes;
  /** Each envelope derives its own key from this one; the same goes for `label` and `asset`. */
  readonly content: HeldKey;
  readonly label: HeldKey;
  /** 64 bytes, for AES-256-SIV */
  readonly assetName: Bytes;
  readonly asset: HeldKey;
}

/** A new master key: 32 random bytes. */
export const newMasterKey = (): Bytes => randomBytes(MASTER_KEY_BYTES);

/**
 * Derives the master key of a vault without password slots, by PBKDF2. The password is normalized to Unicode NFKC.
 * @param encryptionSalt 32 bytes in hex, as stored in the workspace
 * @throws RangeError for another salt, before any work is done
 */
export async function deriveMasterKey(password: string, encryptionSalt: string): Promise<Bytes> {
  const salt = fromHex(encryptionSalt);
  if (salt.length !== 32) throw new RangeError('encryptionSalt must be 32 bytes in hex');
  return pbkdf2(utf8(password.normalize('NFKC')), salt, ITERATIONS);
}

/** The bytes of the five keys. @throws RangeError unless the master key has 32 bytes */
export async function deriveSubkeys(masterKey: Uint8Array): Promise<Record<keyof VaultKeys, Bytes>> {
  const key = await masterHkdfKey(masterKey);
  const [path, content, label, assetName, asset] = await Promise.all([
    hkdf(key, { info: 'path', length: 64 }),
    hkdf(key, { info: 'content', length: 32 }),
    hkdf(key, { info: 'label', length: 32 }),
    hkdf(key, { info: 'asset-name', length: 64 }),
    hkdf(key, { info: 'asset', length: 32 }),
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
export async function verificationHash(masterKey: Uint8Array, verificationSalt: string): Promise<string> {
  const salt = fromHex(verificationSalt);
  const key = await masterHkdfKey(masterKey);
  return contentHash(await hkdf(key, { salt, info: 'verification', length: 32 }));
}

async function masterHkdfKey(masterKey: Uint8Array): Promise<HeldKey> {
  if (masterKey.length !== MASTER_KEY_BYTES) throw new RangeError('the master key must be 32 bytes');
  return hkdfKey(masterKey);
}
