import { areEqual, type Bytes, concat, fromHex, randomBytes, toHex, utf8 } from './bytes.js';
import { RecoveryKeyTypo } from './errors.js';
import { sha256 } from './hash.js';

/** Bytes of a recovery key. */
export const RECOVERY_KEY_BYTES = 32;

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'; // Crockford's base32
const CHECKSUM_BYTES = 3;
const CHARACTERS = 56; // for 35 bytes, 5 bits each
const GROUP = 7;

/** White space, and everything that a word processor makes of a hyphen. */
const SEPARATORS = /[\s\p{Dash_Punctuation}\u2212]/gu;

/** A new recovery key: 32 random bytes, to be shown once by formatRecoveryKey. The caller wipes it. */
export const generateRecoveryKey = (): Bytes => randomBytes(RECOVERY_KEY_BYTES);

/** The form to write down: 8 groups of 7 characters. @throws RangeError unless the key has 32 bytes */
export async function formatRecoveryKey(key: Uint8Array): Promise<string> {
  if (key.length !== RECOVERY_KEY_BYTES) throw new RangeError('the recovery key must be 32 bytes');
  const bytes = concat(key, await checksumOf(key));
  const number = BigInt(`0x${toHex(bytes)}`);
  bytes.fill(0);
  const digits = Array.from({ length: CHARACTERS }, (_, at) =>
    ALPHABET.charAt(Number((number >> BigInt(5 * (CHARACTERS - 1 - at))) & 31n)),
  ).join('');
  return (digits.match(/.{7}/g) ?? []).join('-');
}

/**
 * Reads a recovery key as typed: in either case, with or without spaces and hyphens, O for 0, I and L for 1.
 * The caller wipes the result, 32 bytes.
 * @throws RecoveryKeyTypo when it has another length, another character or a wrong checksum
 */
export async function parseRecoveryKey(text: string): Promise<Bytes> {
  const typed = text.normalize('NFKC').replace(SEPARATORS, '').toUpperCase();
  const digits = Array.from(typed.replaceAll('O', '0').replaceAll(/[IL]/g, '1'));
  if (digits.length !== CHARACTERS)
    throw new RecoveryKeyTypo(`a recovery key has ${CHARACTERS} characters; this one has ${digits.length}`);
  let number = 0n;
  for (const [at, digit] of digits.entries()) {
    const value = ALPHABET.indexOf(digit);
    if (value < 0)
      throw new RecoveryKeyTypo(
        `group ${Math.floor(at / GROUP) + 1} has a character that no recovery key has`,
      );
    number = (number << 5n) | BigInt(value);
  }
  const bytes = fromHex(number.toString(16).padStart((RECOVERY_KEY_BYTES + CHECKSUM_BYTES) * 2, '0'));
  const key = bytes.slice(0, RECOVERY_KEY_BYTES);
  const isRight = areEqual(bytes.subarray(RECOVERY_KEY_BYTES), await checksumOf(key));
  bytes.fill(0);
  if (isRight) return key;
  key.fill(0);
  throw new RecoveryKeyTypo('a character of the recovery key is wrong, or two are swapped');
}

async function checksumOf(key: Uint8Array): Promise<Bytes> {
  const bytes = concat(utf8('recovery-key'), key);
  const checksum = (await sha256(bytes)).subarray(0, CHECKSUM_BYTES);
  bytes.fill(0);
  return checksum;
}
