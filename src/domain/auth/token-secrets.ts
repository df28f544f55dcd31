import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** `pat_` and 43 base64url characters. */
export const PAT = /^pat_[A-Za-z0-9_-]{43}$/;

/** Topic of the event bus: a personal access token was revoked; the key is its id. */
export const TOKEN_REVOKED = 'token-revoked';

/** Generates a personal access token: 32 random bytes after the prefix that secret scanners recognize. */
export function generatePat(): string {
  return `pat_${randomBytes(32).toString('base64url')}`;
}

/** The hash that the database stores. Unsalted, so that a token can be looked up by its hash; 32 random bytes need no salt. */
export function hashPat(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Compares in constant time; hashing makes the lengths equal. */
export function equalSecrets(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
}
