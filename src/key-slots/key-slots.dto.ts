import { IsIn, Matches, ValidateBy, ValidateIf } from 'class-validator';
import { fromRequest, parseIfMatch } from '../platform/http/index.js';
import { VerifyPasswordRequest } from '../workspaces/index.js';
import { KEY_SLOT_KINDS, type KeySlotKind } from './key-slots.service.js';

const MAX_KDF_BYTES = 1_024;
const MAX_KDF_DEPTH = 2;
const MAX_WRAPPED_KEY_BYTES = 1_024;

/** U+0000 and lone surrogates cannot be stored. */
const LABEL = /^[^\0\p{Cs}]{0,512}$/u;

/** Numbers beyond the range of JSON.parse are Infinity, which would be stored as null. */
function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return value !== Infinity && value !== -Infinity;
  return depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1));
}

function isKdf(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return isShallow(value, MAX_KDF_DEPTH) && Buffer.byteLength(JSON.stringify(value)) <= MAX_KDF_BYTES;
}

/** Canonical, so that the stored bytes give the same text again. */
function isWrappedKey(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > 2 * MAX_WRAPPED_KEY_BYTES) return false;
  const bytes = Buffer.from(value, 'base64');
  const isOfLength = bytes.length > 0 && bytes.length <= MAX_WRAPPED_KEY_BYTES;
  return isOfLength && bytes.toString('base64') === value;
}

/** Its `verificationHash` proves that the caller knows the master key. */
export class DeleteKeySlotRequest extends VerifyPasswordRequest {}

export class PutKeySlotRequest extends DeleteKeySlotRequest {
  @IsIn(KEY_SLOT_KINDS, { message: `kind must be one of ${KEY_SLOT_KINDS.join(', ')}` })
  kind: KeySlotKind;

  @ValidateIf(({ label }: PutKeySlotRequest) => label !== undefined && label !== null)
  @Matches(LABEL, { message: 'label must be a string of at most 512 characters' })
  label?: string | null;

  @ValidateBy(
    { name: 'isKdf', validator: { validate: isKdf } },
    { message: `kdf must be a JSON object of at most ${MAX_KDF_BYTES} bytes and depth ${MAX_KDF_DEPTH}` },
  )
  kdf: Record<string, unknown>;

  @ValidateBy(
    { name: 'isWrappedKey', validator: { validate: isWrappedKey } },
    { message: `wrappedKey must be canonical base64 of 1 to ${MAX_WRAPPED_KEY_BYTES} bytes` },
  )
  wrappedKey: string;
}

/** `If-Match: "<updatedAt>", …` or `*`; null when absent. */
export const IfMatch = fromRequest(({ headers }) => parseIfMatch(headers['if-match'], 'times of updatedAt'));
