import { isUuid } from './uuid.js';
import { type Bytes, fromBase64, toBase64, utf8 } from './bytes.js';
import {
  ENVELOPE_OVERHEAD,
  type EnvelopeKey,
  envelopeKey,
  type FixedRandomness,
  openEnvelope,
  sealEnvelope,
} from './envelope.js';
import { DecryptionError } from './errors.js';
import type { Primitives } from './primitives.js';

type Sealing = Pick<Primitives, 'hkdf' | 'aead'>;

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
/** 93 bytes fill 124 characters, without padding. */
const WRAPPED_KEY = /^[A-Za-z0-9+/]{124}$/;

/** Whether the text is base64 of as many bytes as a wrapped key has. */
export function isWrappedKey(text: unknown): text is string {
  return typeof text === 'string' && WRAPPED_KEY.test(text);
}

/** Wipes the KEK. */
export async function wrap(
  kek: Bytes,
  place: SlotPlace,
  masterKey: Uint8Array,
  primitives: Sealing,
  fixed?: FixedRandomness,
): Promise<string> {
  const seal = (key: EnvelopeKey): Promise<Bytes> =>
    sealEnvelope(key, masterKey, associatedWith(place), fixed);
  return toBase64(await withSlotKey(kek, primitives, seal));
}

/** Wipes the KEK. @throws DecryptionError */
export function unwrap(kek: Bytes, place: SlotPlace, wrapped: Bytes, primitives: Sealing): Promise<Bytes> {
  return withSlotKey(kek, primitives, (key) => openEnvelope(key, wrapped, associatedWith(place)));
}

async function withSlotKey<T>(
  kek: Bytes,
  primitives: Sealing,
  use: (key: EnvelopeKey) => Promise<T>,
): Promise<T> {
  const keys = [kek];
  try {
    const key = await primitives.hkdf(kek, { info: 'key-slot', length: 32 });
    keys.push(key);
    return await use(envelopeKey(key, primitives));
  } finally {
    for (const key of keys) key.fill(0);
  }
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
