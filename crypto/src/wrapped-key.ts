import { isUuid } from './uuid.js';
import { type Bytes, fromBase64, toBase64, utf8 } from './bytes.js';
import { ENVELOPE_OVERHEAD, type FixedRandomness, openEnvelope, sealEnvelope } from './envelope.js';
import { DecryptionError } from './errors.js';
import { type HeldKey, hkdf, hkdfKey } from './hash.js';

/** The location of a slot: two UUIDs in lower case. A wrapped key opens only in its own slot. */
export interface SlotPlace {
  readonly workspaceId: string;
  readonly slotId: string;
}

/** The parts of a slot that opening needs, as the service returned them: untrusted. */
export interface StoredSlot {
  readonly kdf: unknown;
  readonly wrappedKey: unknown;
}

const KEY_BYTES = 32;
const WRAPPED_BYTES = KEY_BYTES + ENVELOPE_OVERHEAD;

/** Wipes the KEK. */
export async function wrap(
  kek: Bytes,
  place: SlotPlace,
  masterKey: Uint8Array,
  fixed?: FixedRandomness,
): Promise<string> {
  return toBase64(await sealEnvelope(await slotKey(kek), masterKey, associatedWith(place), fixed));
}

/** Wipes the KEK. @throws DecryptionError */
export async function unwrap(kek: Bytes, place: SlotPlace, wrapped: Bytes): Promise<Bytes> {
  return openEnvelope(await slotKey(kek), wrapped, associatedWith(place));
}

/** Wipes the KEK. */
async function slotKey(kek: Bytes): Promise<HeldKey> {
  const key = await hkdf(await hkdfKey(kek), { info: 'key-slot', length: 32 });
  const held = await hkdfKey(key);
  for (const used of [kek, key]) used.fill(0);
  return held;
}

/** @throws DecryptionError unless the wrapped key and its place have the only form that can open */
export function wrappedBytes(place: SlotPlace, { wrappedKey }: StoredSlot): Bytes {
  if (!isPlace(place)) throw new DecryptionError('the ids of the key slot are not lower-case uuids');
  if (typeof wrappedKey === 'string' && wrappedKey.length > WRAPPED_BYTES * 2)
    throw new DecryptionError('the wrapped key is too long');
  const bytes = fromBase64(wrappedKey);
  if (bytes.length !== WRAPPED_BYTES) throw new DecryptionError(`a wrapped key has ${WRAPPED_BYTES} bytes`);
  return bytes;
}

const associatedWith = ({ workspaceId, slotId }: SlotPlace): Bytes =>
  utf8(`key-slot|${workspaceId}|${slotId}`);

export function checkInput(place: SlotPlace, key: Uint8Array, name: string): void {
  if (!isPlace(place)) throw new RangeError('the ids of a key slot must be lower-case uuids');
  if (key.length !== KEY_BYTES) throw new RangeError(`${name} must be ${KEY_BYTES} bytes`);
}

const isPlace = ({ workspaceId, slotId }: SlotPlace): boolean => isUuid(workspaceId) && isUuid(slotId);
