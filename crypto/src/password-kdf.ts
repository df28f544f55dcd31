import { type Bytes, fromHex, randomBytes, toHex, utf8 } from './bytes.js';
import { type Argon2idCost, PRIMITIVES, type Primitives } from './primitives.js';
import { KdfRefused } from './errors.js';

/** `kdf` of a password slot. The salt is 32 bytes in lower-case hex. */
export type PasswordKdf =
  | { readonly name: 'pbkdf2-sha256'; readonly salt: string; readonly iterations: number }
  | ({ readonly name: 'argon2id'; readonly salt: string } & Argon2idCost);

type Bounds = Readonly<Record<string, readonly [least: number, most: number]>>;

/** Bounds of the integers that a reader accepts, inclusive. */
export const KDF_BOUNDS = {
  'pbkdf2-sha256': { iterations: [600_000, 10_000_000] },
  argon2id: { memoryKiB: [19_456, 131_072], passes: [2, 10], lanes: [1, 4] },
} as const satisfies Record<PasswordKdf['name'], Bounds>;

const SALT = /^[0-9a-f]{64}$/;

/** The smallest WebAssembly module. */
const MODULE = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

/** Parameters of a new password slot, with a new salt. A page whose policy forbids WebAssembly gets PBKDF2. */
export function newPasswordKdf(
  name: PasswordKdf['name'] = hasWasm() ? 'argon2id' : 'pbkdf2-sha256',
): PasswordKdf {
  const salt = toHex(randomBytes(32));
  return name === 'argon2id'
    ? { name, salt, memoryKiB: 65_536, passes: 3, lanes: 1 }
    : { name, salt, iterations: 1_000_000 };
}

/**
 * Returns `kdf` if a password may be derived with it. Derives nothing.
 * @throws KdfRefused for anything but the parameters of PasswordKdf within KDF_BOUNDS, additional keys included
 */
export function checkPasswordKdf(kdf: unknown): PasswordKdf {
  const given = objectOf(kdf);
  const { name, salt } = given;
  if (name !== 'pbkdf2-sha256' && name !== 'argon2id') throw new KdfRefused('malformed');
  const bounds: Bounds = KDF_BOUNDS[name];
  requireKeys(given, ['name', 'salt', ...Object.keys(bounds)]);
  if (typeof salt !== 'string' || !SALT.test(salt)) throw new KdfRefused('malformed');
  const values = Object.entries(bounds).map(([parameter, range]) => ({ value: given[parameter], range }));
  if (values.some(({ value }) => !Number.isSafeInteger(value))) throw new KdfRefused('malformed');
  for (const { value, range } of values) {
    if (Number(value) < range[0]) throw new KdfRefused('too weak');
    if (Number(value) > range[1]) throw new KdfRefused('too expensive');
  }
  return given as unknown as PasswordKdf;
}

/**
 * Derives the key encryption key of a password slot: 32 bytes, which the caller wipes.
 * @throws KdfRefused as checkPasswordKdf, before any work is done
 */
export async function derivePasswordKek(
  password: string,
  kdf: unknown,
  { pbkdf2, argon2id }: Pick<Primitives, 'pbkdf2' | 'argon2id'> = PRIMITIVES,
): Promise<Bytes> {
  const checked = checkPasswordKdf(kdf);
  const bytes = utf8(password.normalize('NFKC'));
  const salt = fromHex(checked.salt);
  try {
    if (checked.name === 'pbkdf2-sha256') return await pbkdf2(bytes, salt, checked.iterations);
    const { memoryKiB, passes, lanes } = checked;
    return await argon2id({ password: bytes, salt, memoryKiB, passes, lanes });
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

function hasWasm(): boolean {
  try {
    return new WebAssembly.Module(MODULE) instanceof WebAssembly.Module;
  } catch {
    return false;
  }
}
