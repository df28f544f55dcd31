import { createHash } from 'node:crypto';

/** Crockford's alphabet: without I, L, O and U, which are easily misread. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 8;

/**
 * The code that the app and the page both show, so that a person can see that they belong together: the first 40 bits of the
 * SHA-256 of `client_state` in Crockford's base 32, as `XXXX-XXXX`.
 */
export function comparisonCode(clientState: string): string {
  const bits = createHash('sha256').update(clientState).digest().readUIntBE(0, 5);
  const digits = Array.from({ length: LENGTH }, (_, at) => {
    return DIGITS[Math.floor(bits / 32 ** (LENGTH - 1 - at)) % 32] ?? '';
  }).join('');
  return `${digits.slice(0, 4)}-${digits.slice(4)}`;
}
