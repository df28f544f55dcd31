import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/** Cost of one derivation: 128 × N × r bytes, and time proportional to N × r × p. */
export interface ScryptCost {
  /** N as a power of two. */
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

/** 128 MiB and about 0.4 s of one core. */
export const PASSWORD_COST: ScryptCost = { ln: 17, r: 8, p: 1 };

const KEY_BYTES = 64;

/** The old format, `salt:key`. The salt is the hex text itself, not the bytes that it encodes. */
const OUTDATED = /^([0-9a-f]+):([0-9a-f]{128})$/;
export const OUTDATED_COST: ScryptCost = { ln: 14, r: 16, p: 1 };

/** The PHC string format: the parameters come before the salt and the key. */
const FORMAT = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** A stored hash, parsed. */
export interface PasswordHash {
  readonly cost: ScryptCost;
  readonly salt: string | Buffer;
  readonly key: Buffer;
}

/** Parses a hash in any format that was ever stored. @throws for any other text */
export function parseHash(text: string): PasswordHash {
  const [, outdatedSalt, outdatedKey] = OUTDATED.exec(text) ?? [];
  if (outdatedSalt && outdatedKey)
    return { cost: OUTDATED_COST, salt: outdatedSalt, key: Buffer.from(outdatedKey, 'hex') };
  const [, ln, r, p, salt = '', key = ''] = FORMAT.exec(text) ?? [];
  if (!key) throw new Error('a stored password hash has an unknown format');
  const cost = { ln: Number(ln), r: Number(r), p: Number(p) };
  return { cost, salt: Buffer.from(salt, 'base64'), key: Buffer.from(key, 'base64') };
}

/** Hashes a password with a new salt. */
export async function makeHash(password: string, cost: ScryptCost): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, { cost, salt, bytes: KEY_BYTES });
  const { ln, r, p } = cost;
  return `$scrypt$ln=${ln},r=${r},p=${p}$${unpadded(salt)}$${unpadded(key)}`;
}

export async function isHashOf(password: string, { cost, salt, key }: PasswordHash): Promise<boolean> {
  return timingSafeEqual(await derive(password, { cost, salt, bytes: key.length }), key);
}

/** Takes as long as checking a hash of this cost, and has no result. */
export async function deriveAndDiscard(password: string, cost: ScryptCost): Promise<void> {
  await derive(password, { cost, salt: 'none', bytes: KEY_BYTES });
}

export const isSameCost = (one: ScryptCost, other: ScryptCost): boolean =>
  one.ln === other.ln && one.r === other.r && one.p === other.p;

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

/** Runs in a libuv thread. Normalizes to NFKC, so that a password is the same from every keyboard. */
function derive(
  password: string,
  { cost: { ln, r, p }, salt, bytes }: { cost: ScryptCost; salt: string | Buffer; bytes: number },
): Promise<Buffer> {
  const N = 2 ** ln;
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, bytes, { N, r, p, maxmem: 256 * N * r }, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}
