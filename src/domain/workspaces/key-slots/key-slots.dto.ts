import { IsIn, Matches, ValidateBy, ValidateIf, type ValidationArguments } from 'class-validator';
import {
  isWrappedKey,
  KDF_BOUNDS,
  type KeySlotKind,
  type PasswordKdf,
} from '../../automation/key-slot-crypto.js';
import { fromRequest, parseIfMatch, StrictBody } from '../../../platform/http/index.js';
import { VerifyPasswordRequest } from '../index.js';
import { KEY_SLOT_KINDS, kdfFault } from './slot-form.js';

/** U+0000 and lone surrogates cannot be stored. */
const LABEL = /^[^\0\p{Cs}]{0,512}$/u;

const isKind = (value: unknown): value is KeySlotKind => KEY_SLOT_KINDS.some((kind) => kind === value);

function isReadable(kdf: unknown, kind: unknown): boolean {
  return isKind(kind) && kdfFault(kind, kdf) === undefined;
}

const FORMS = {
  password: 'pbkdf2-sha256 with salt and iterations, or argon2id with salt, memoryKiB, passes and lanes',
  recovery: 'hkdf-sha256',
  passkey: 'hkdf-sha256 with credentialId and prfSalt',
} as const satisfies Record<KeySlotKind, string>;

function kdfMessage({ object, value }: ValidationArguments): string {
  const { kind } = object as PutKeySlotRequest;
  const fault = isKind(kind) ? kdfFault(kind, value) : undefined;
  if (fault === undefined || fault === 'malformed')
    return `kdf must be ${isKind(kind) ? FORMS[kind] : 'that of its kind'}, and have no other member`;
  const { name } = value as PasswordKdf;
  const bounds = Object.entries(KDF_BOUNDS[name]).map(
    ([parameter, [least, most]]) => `${parameter} ${least} to ${most}`,
  );
  return `kdf is ${fault}: ${bounds.join(', ')}`;
}

/** Its `verificationHash` proves that the caller knows the master key. */
@StrictBody()
export class DeleteKeySlotRequest extends VerifyPasswordRequest {}

export class PutKeySlotRequest extends DeleteKeySlotRequest {
  @IsIn(KEY_SLOT_KINDS, { message: `kind must be one of ${KEY_SLOT_KINDS.join(', ')}` })
  kind: KeySlotKind;

  @ValidateIf(({ label }: PutKeySlotRequest) => label !== undefined && label !== null)
  @Matches(LABEL, { message: 'label must be a string of at most 512 characters' })
  label?: string | null;

  /** What readers accept for this kind, and nothing else. */
  @ValidateBy(
    {
      name: 'isKdf',
      validator: {
        validate: (kdf, { object }: ValidationArguments) =>
          isReadable(kdf, (object as PutKeySlotRequest).kind),
      },
    },
    { message: kdfMessage },
  )
  kdf: Record<string, unknown>;

  @ValidateBy(
    { name: 'isWrappedKey', validator: { validate: isWrappedKey } },
    { message: 'wrappedKey must be base64 of 93 bytes' },
  )
  wrappedKey: string;
}

/** `If-Match: "<updatedAt>", …` or `*`; null when absent. */
export const IfMatch = fromRequest(({ headers }) => parseIfMatch(headers['if-match'], 'times of updatedAt'));
