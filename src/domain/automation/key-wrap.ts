import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { hkdf } from './vault-crypto.js';

/** `ks_` and 43 base64url characters: the value that a client sends in `X-Key-Session`. */
const TOKEN = /^ks_[A-Za-z0-9_-]{43}$/;

/** The token has enough entropy without a salt. */
const NO_SALT = Buffer.alloc(0);
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The identity that a wrapped key is bound to: copied into another row, it does not unwrap. */
export interface Binding {
  readonly id: string;
  readonly userId: string;
  readonly workspaceId: string;
}

export function generateToken(): string {
  return `ks_${randomBytes(32).toString('base64url')}`;
}

export function isToken(text: unknown): text is string {
  return typeof text === 'string' && TOKEN.test(text);
}

/** The stored form of a token, used to look up its session. It has no salt, which 32 random bytes do not need. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Wraps the key with a key derived from the token only. The result is nonce, ciphertext, tag. */
export function wrapKey(token: string, binding: Binding, key: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  return withWrappingKey(token, (wrappingKey) => {
    const cipher = createCipheriv('aes-256-gcm', wrappingKey, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(associated(binding));
    const sealed = cipher.update(key);
    cipher.final();
    return Buffer.concat([nonce, sealed, cipher.getAuthTag()]);
  });
}

/** @throws Error when the key was wrapped with another token or binding, or was altered */
export function unwrapKey(token: string, binding: Binding, wrapped: Buffer): Buffer {
  return withWrappingKey(token, (wrappingKey) => {
    const nonce = wrapped.subarray(0, NONCE_BYTES);
    const cipher = createDecipheriv('aes-256-gcm', wrappingKey, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(associated(binding));
    cipher.setAuthTag(wrapped.subarray(-TAG_BYTES));
    const key = cipher.update(wrapped.subarray(NONCE_BYTES, -TAG_BYTES));
    cipher.final(); // verifies the tag: return nothing before this
    return key;
  });
}

function withWrappingKey<T>(token: string, use: (wrappingKey: Buffer) => T): T {
  // The stored hash is a plain SHA-256 of the token, while this is an HMAC: neither reveals anything about the other.
  const wrappingKey = hkdf(Buffer.from(token), NO_SALT, 'key session', 32);
  try {
    return use(wrappingKey);
  } finally {
    wrappingKey.fill(0);
  }
}

function associated({ id, userId, workspaceId }: Binding): Buffer {
  return Buffer.from(`${id} ${userId} ${workspaceId}`, 'ascii');
}
