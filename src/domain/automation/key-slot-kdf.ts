/**
 * The derivations of password slots. Parameters come from the service, which may be hostile: too little work would let it guess
 * the password cheaply, too much would block the client. Both are refused before any work is done.
 */
import { pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { type Argon2idCost, argon2idOfNode, deriveArgon2id } from './argon2id.js';

/** `kdf` of a password slot. The salt is 32 bytes in lower-case hex. */
export type PasswordKdf =
  | { readonly name: 'pbkdf2-sha256'; readonly salt: string; readonly iterations: number }
  | ({ readonly name: 'argon2id'; readonly salt: string } & Argon2idCost);

/** The minimum and the maximum that a reader accepts, both inclusive. All are integers. */
export const KDF_BOUNDS = {
  'pbkdf2-sha256': { iterations: [600_000, 10_000_000] },
  argon2id: { memoryKiB: [19_456, 131_072], passes: [2, 10], lanes: [1, 4] },
} as const;

/** 64 MiB in three passes: the second recommendation of RFC 9106, in one lane because not every platform has threads. */
const ARGON2ID_DEFAULT = { memoryKiB: 65_536, passes: 3, lanes: 1 };
const PBKDF2_DEFAULT = { iterations: 1_000_000 };

const SALT_BYTES = 32;
const KEY_BYTES = 32;
const SALT = /^[0-9a-f]{64}$/;

/** Why the parameters of a slot were refused, before any work was done. */
export type KdfRefusal = 'too weak' | 'too expensive' | 'malformed';

/** The parameters of a slot must not be used: they are outside the bounds, unknown or not in the agreed form. */
export class KdfRefused extends Error {
  override readonly name = 'KdfRefused';

  constructor(readonly reason: KdfRefusal) {
    super(`the parameters of the key slot are ${reason}`);
  }
}

/** Parameters for a new password slot, with a new salt: Argon2id where Node.js has it, else PBKDF2. */
export function newPasswordKdf(): PasswordKdf {
  const salt = randomBytes(SALT_BYTES).toString('hex');
  return argon2idOfNode
    ? { name: 'argon2id', salt, ...ARGON2ID_DEFAULT }
    : { name: 'pbkdf2-sha256', salt, ...PBKDF2_DEFAULT };
}

/**
 * Returns `kdf` if a password may be derived with it. Does no work.
 * @throws KdfRefused for anything but the parameters of PasswordKdf within KDF_BOUNDS, other keys included
 */
export function checkPasswordKdf(kdf: unknown): PasswordKdf {
  const given = objectOf(kdf);
  const { name } = given;
  if (name !== 'pbkdf2-sha256' && name !== 'argon2id') throw new KdfRefused('malformed');
  const bounds: Readonly<Record<string, readonly [number, number]>> = KDF_BOUNDS[name];
  requireKeys(given, ['name', 'salt', ...Object.keys(bounds)]);
  requireMatch(given['salt'], SALT);
  for (const parameter of Object.keys(bounds))
    if (!Number.isSafeInteger(given[parameter])) throw new KdfRefused('malformed');
  for (const [parameter, [least, most]] of Object.entries(bounds)) {
    const value = Number(given[parameter]);
    if (value < least) throw new KdfRefused('too weak');
    if (value > most) throw new KdfRefused('too expensive');
  }
  return given as unknown as PasswordKdf;
}

/**
 * Derives the key encryption key of a password slot: 32 bytes, which the caller wipes. Runs off the event loop. The
 * password is normalized to Unicode NFKC.
 *
 * @throws KdfRefused as checkPasswordKdf, before any work is done
 */
export async function derivePasswordKek(password: string, kdf: unknown): Promise<Buffer> {
  const checked = checkPasswordKdf(kdf);
  const bytes = Buffer.from(password.normalize('NFKC'), 'utf8');
  const salt = Buffer.from(checked.salt, 'hex');
  try {
    return checked.name === 'argon2id'
      ? await deriveArgon2id({ ...checked, password: bytes, salt })
      : await pbkdf2Async(bytes, salt, checked.iterations, KEY_BYTES, 'sha256');
  } finally {
    bytes.fill(0);
  }
}

/** @throws KdfRefused unless it is a JSON object */
export function objectOf(kdf: unknown): Readonly<Record<string, unknown>> {
  if (typeof kdf !== 'object' || kdf === null || Array.isArray(kdf)) throw new KdfRefused('malformed');
  return kdf as Readonly<Record<string, unknown>>;
}

/** @throws KdfRefused unless the object has exactly these keys */
export function requireKeys(given: Readonly<Record<string, unknown>>, keys: readonly string[]): void {
  const own = Object.keys(given);
  if (own.length !== keys.length || keys.some((key) => !own.includes(key))) throw new KdfRefused('malformed');
}

/** @throws KdfRefused unless the value is a string of this form */
export function requireMatch(value: unknown, form: RegExp): void {
  if (typeof value !== 'string' || !form.test(value)) throw new KdfRefused('malformed');
}

const pbkdf2Async = promisify(pbkdf2);
