import { createCipheriv, createDecipheriv, createHmac, pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import {
  type Aead,
  type AeadBox,
  type Bytes,
  type Primitives,
  deriveSubkeys,
  ENVELOPE_FORM,
  type EnvelopeKey,
  envelopeKey,
  type HkdfParameters,
  type VaultKeys,
} from '../../../crypto/src/index.js';
import { deriveArgon2id } from './argon2id.js';

const NO_SALT = Buffer.alloc(0);

/**
 * HKDF-SHA256 (RFC 5869) for up to 64 bytes, which the caller wipes. Neither by WebCrypto nor by `hkdfSync`: these leave a copy of
 * the key in memory until garbage collection.
 */
export function hkdf(key: Uint8Array, { salt = NO_SALT, info, length }: HkdfParameters): Bytes {
  const extracted = hmac(salt, key);
  const first = hmac(extracted, Buffer.from(info), Buffer.of(1));
  const second = hmac(extracted, first, Buffer.from(info), Buffer.of(2));
  const expanded = unmoved(length);
  expanded.set(first);
  expanded.set(second.subarray(0, length - first.length), first.length);
  for (const used of [extracted, first, second]) used.fill(0);
  return expanded;
}

/** Zeros outside of the JavaScript heap, whose collector moves small arrays and leaves their bytes behind. */
const unmoved = (length: number): Bytes => new Uint8Array(new ArrayBuffer(length));

function hmac(key: Uint8Array, ...parts: Uint8Array[]): Buffer {
  const code = createHmac('sha256', key);
  for (const part of parts) code.update(part);
  return code.digest();
}

const TAG_BYTES = ENVELOPE_FORM.tagBytes;

/** Keeps no copy of the key once it returns, and needs no thread: those of the pool may be busy with passwords for a second. */
export const aead = {
  seal(key: Uint8Array, { nonce, associated }: AeadBox, plaintext: Uint8Array): Bytes {
    const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(associated);
    const ciphertext = cipher.update(plaintext);
    cipher.final();
    const sealed = unmoved(ciphertext.length + TAG_BYTES);
    sealed.set(ciphertext);
    sealed.set(cipher.getAuthTag(), ciphertext.length);
    return sealed;
  },
  open(key: Uint8Array, { nonce, associated }: AeadBox, sealed: Uint8Array): Bytes | undefined {
    const at = sealed.length - TAG_BYTES;
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(associated)
      .setAuthTag(sealed.subarray(at));
    const plaintext = decipher.update(sealed.subarray(0, at)) as Bytes;
    try {
      decipher.final();
    } catch {
      plaintext.fill(0);
      return undefined;
    }
    return plaintext;
  },
} satisfies Aead;

const pbkdf2Of = promisify(pbkdf2);

/** The service's own: off the event loop where they take long, and without copies of keys that it cannot wipe. */
export const PRIMITIVES: Primitives = {
  hkdf,
  argon2id: deriveArgon2id,
  pbkdf2: (password, salt, iterations) => pbkdf2Of(password, salt, iterations, 32, 'sha256'),
  aead,
};

type KeyBytes = Readonly<Record<keyof VaultKeys, Bytes>>;

/** The keys of a vault in memory that can be overwritten. After that, using them throws: a key of zeros would encrypt too. */
export class WipeableKeys implements VaultKeys<EnvelopeKey> {
  private isWiped = false;

  private constructor(private readonly bytes: KeyBytes) {}

  /** Leaves the master key to the caller. @throws RangeError unless it has 32 bytes */
  static async of(masterKey: Uint8Array): Promise<WipeableKeys> {
    return new WipeableKeys(await deriveSubkeys(masterKey, PRIMITIVES));
  }

  get path(): Bytes {
    return this.live.path;
  }

  get content(): EnvelopeKey {
    return envelopeKey(this.live.content, PRIMITIVES);
  }

  get label(): EnvelopeKey {
    return envelopeKey(this.live.label, PRIMITIVES);
  }

  get assetName(): Bytes {
    return this.live.assetName;
  }

  get asset(): EnvelopeKey {
    return envelopeKey(this.live.asset, PRIMITIVES);
  }

  /** Must be wiped by itself. */
  copy(): WipeableKeys {
    const copies = Object.entries(this.live).map(([name, key]) => {
      const copied = unmoved(key.length);
      copied.set(key);
      return [name, copied];
    });
    return new WipeableKeys(Object.fromEntries(copies) as KeyBytes);
  }

  wipe(): void {
    this.isWiped = true;
    for (const key of Object.values(this.bytes)) key.fill(0);
  }

  private get live(): KeyBytes {
    if (this.isWiped) throw new Error('the keys of the vault have been wiped');
    return this.bytes;
  }
}
