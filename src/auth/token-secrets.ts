import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** `pat_` and 43 base64url characters. */
export const PAT = /^pat_[A-Za-z0-9_-]{43}$/;

/** Topic of the event bus: a personal access token was revoked; the key is its id. */
export const TOKEN_REVOKED = 'token-revoked';

/** A new personal access token: 32 random bytes behind the prefix by which scanners know it. */
export function generatePat(): string {
  return `pat_${randomBytes(32).toString('base64url')}`;
}

/** What the database has of it. Without salt, so that a token is found by its hash: 32 random bytes need none. */
export function hashPat(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Compares in constant time; the digests make the lengths equal. */
export function equalSecrets(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
}
