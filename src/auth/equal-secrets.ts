import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares in constant time; the digests make the lengths equal. */
export function equalSecrets(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
}
