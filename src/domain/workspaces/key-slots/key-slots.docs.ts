import {
  arrayOf,
  INSTANT,
  json,
  named,
  nullable,
  objectOf,
  OK,
  oneOf,
  SHA256_HEX,
  STRING,
  UUID,
} from '../../../platform/api-docs/index.js';
import type { KeySlot, KeySlotList } from './key-slots.service.js';
import { KEY_SLOT_KINDS } from './slot-form.js';

export type KeySlotWire = Omit<KeySlot, 'createdAt' | 'updatedAt'> & { createdAt: string; updatedAt: string };
export type KeySlotListWire = Omit<KeySlotList, 'slots'> & { slots: KeySlotWire[] };

export function keySlotWire(slot: KeySlot): KeySlotWire {
  return { ...slot, createdAt: slot.createdAt.toISOString(), updatedAt: slot.updatedAt.toISOString() };
}

const KEY_SLOT = named(
  'KeySlot',
  objectOf<KeySlotWire>({
    id: UUID,
    kind: oneOf(...KEY_SLOT_KINDS),
    label: nullable(STRING),
    kdf: { type: 'object', additionalProperties: true },
    wrappedKey: { type: 'string', contentEncoding: 'base64' },
    createdAt: INSTANT,
    updatedAt: INSTANT,
  }),
);

const LIST = named(
  'KeySlots',
  objectOf<KeySlotListWire>({
    encryptionSalt: nullable(SHA256_HEX),
    verificationSalt: nullable(STRING),
    slots: arrayOf(KEY_SLOT),
  }),
);

const OF_SLOT = { slotId: { description: 'A UUID that the client chooses.', schema: UUID } } as const;
const HEADERS = {
  'If-Match': { description: '`"<updatedAt>"`: writes only if the slot has not been replaced since.' },
} as const;
const PROOF =
  'The body proves knowledge of the master key: a token alone neither adds nor removes a slot. At most 10 writes a minute per workspace.';
const WRONG_PROOF = 'verificationHash is wrong, or the token lacks the scope';
const CHANGED = 'the slot has been replaced or deleted since the time in If-Match';

export const KEY_SLOTS_DOCS = {
  tag: 'Key slots',
  operations: {
    list: {
      id: 'keySlots.list',
      summary: 'List the key slots and the salts of a workspace',
      description:
        'Each slot holds the master key, encrypted under a password, a recovery key or a passkey. Oldest first. The salts are null until encryption is set up.',
      answers: { 200: json('all slots', LIST) },
    },
    put: {
      id: 'keySlots.put',
      summary: 'Create or replace a key slot',
      description: PROOF,
      path: OF_SLOT,
      headers: HEADERS,
      answers: {
        200: json('the slot, which replaces an earlier one', KEY_SLOT),
        201: json('a new slot', KEY_SLOT),
        403: WRONG_PROOF,
        409: 'encryption is not set up, or the workspace already has 16 slots or 4 passwords',
        412: CHANGED,
      },
    },
    delete: {
      id: 'keySlots.delete',
      summary: 'Delete a key slot',
      description: PROOF,
      path: OF_SLOT,
      headers: HEADERS,
      answers: {
        200: json('the slot is deleted', OK),
        403: WRONG_PROOF,
        404: 'key slot not found',
        409: 'encryption is not set up, or it is the last slot that opens',
        412: CHANGED,
      },
    },
  },
} as const;
