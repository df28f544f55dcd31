/**
 * The written form of a recovery key: 8 groups of 7 characters in Crockford's base32, which has no I, L, O and U. They
 * encode the 32 bytes of the key and a checksum of 3 bytes, which tells a typing error from a key of another vault.
 */
import { createHash, randomBytes } from 'node:crypto';

/** Bytes of a recovery key. */
export const RECOVERY_KEY_BYTES = 32;

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const CHECKSUM_BYTES = 3;
const CHECKSUM_LABEL = 'recovery-key';
const GROUP = 7;
const CHARACTERS = 56; // 5 bits each: 35 bytes

/** Spaces, line breaks, and the dashes that word processors substitute for hyphens. */
const SEPARATORS = /[\s\p{Pd}\u2212]+/gu;

/** The text is not a recovery key: it was not copied correctly. The message never repeats it. */
export class RecoveryKeyTypo extends Error {
  override readonly name = 'RecoveryKeyTypo';
}

/** A new recovery key: 32 random bytes. Show it once, in the form of `formatRecoveryKey`; the caller wipes it. */
export function generateRecoveryKey(): Buffer {
  const key = Buffer.alloc(RECOVERY_KEY_BYTES); // not randomBytes, whose result may share its memory with other buffers
  const random = randomBytes(RECOVERY_KEY_BYTES);
  random.copy(key);
  random.fill(0);
  return key;
}

/** The form to write down: `XXXXXXX-…`, 8 groups. @throws RangeError when the key is not 32 bytes */
export function formatRecoveryKey(key: Uint8Array): string {
  if (key.length !== RECOVERY_KEY_BYTES) throw new RangeError('the recovery key must be 32 bytes');
  const bytes = Buffer.concat([key, checksumOf(key)]);
  let bits = BigInt(`0x${bytes.toString('hex')}`);
  bytes.fill(0);
  let text = '';
  for (let at = 0; at < CHARACTERS; at++, bits >>= 5n) {
    const separator = at > 0 && at % GROUP === 0 ? '-' : '';
    text = `${ALPHABET.charAt(Number(bits & 31n))}${separator}${text}`;
  }
  return text;
}

/**
 * Reads a recovery key as people type it: in either case, with spaces, hyphens or without, with O for 0 and I or L
 * for 1. The caller wipes the result, 32 bytes.
 *
 * @throws RecoveryKeyTypo when it is too short or long, has another character, or its checksum is wrong
 */
export function parseRecoveryKey(text: string): Buffer {
  const characters = text.normalize('NFKC').replace(SEPARATORS, '').toUpperCase();
  const digits = Array.from(characters.replaceAll('O', '0').replaceAll(/[IL]/g, '1'));
  if (digits.length !== CHARACTERS)
    throw new RecoveryKeyTypo(`a recovery key has ${CHARACTERS} characters; this one has ${digits.length}`);
  let bits = 0n;
  for (const [at, digit] of digits.entries()) {
    const value = ALPHABET.indexOf(digit);
    if (value < 0) throw new RecoveryKeyTypo(`group ${groupOf(at)} has a character that no recovery key has`);
    bits = (bits << 5n) | BigInt(value);
  }
  return checked(Buffer.from(bits.toString(16).padStart((CHARACTERS * 5) / 4, '0'), 'hex'));
}

function checked(bytes: Buffer): Buffer {
  const key = Buffer.alloc(RECOVERY_KEY_BYTES);
  bytes.copy(key);
  const isRight = checksumOf(key).equals(bytes.subarray(RECOVERY_KEY_BYTES));
  bytes.fill(0);
  if (isRight) return key;
  key.fill(0);
  throw new RecoveryKeyTypo('a character of the recovery key is wrong, or two are swapped');
}

const groupOf = (at: number): number => Math.floor(at / GROUP) + 1;

function checksumOf(key: Uint8Array): Buffer {
  return createHash('sha256').update(CHECKSUM_LABEL).update(key).digest().subarray(0, CHECKSUM_BYTES);
}
