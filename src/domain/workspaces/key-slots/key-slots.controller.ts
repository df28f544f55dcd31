import { Controller, Delete, Get, Put, Res } from '@nestjs/common';
import { IsIn, Matches, ValidateBy, ValidateIf, type ValidationArguments } from 'class-validator';
import type { FastifyReply } from 'fastify';
import { CurrentWorkspace, OwnedWorkspace, Scopes, type WorkspaceRef } from '../../../access/index.js';
import {
  arrayOf,
  Documented,
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
import { fromRequest, JsonBody, parseIfMatch, StrictBody } from '../../../platform/http/index.js';
import { byUser } from '../../auth/audit/index.js';
import {
  isWrappedKey,
  KDF_BOUNDS,
  type KeySlotKind,
  type PasswordKdf,
} from '../../../../crypto/src/index.js';
import { VerifyPasswordRequest } from '../index.js';
import {
  kdfFault,
  KEY_SLOT_KINDS,
  type KeySlot,
  type KeySlotList,
  KeySlots,
  type KeySlotWrite,
} from './key-slots.service.js';

const KEY_SLOT = named(
  'KeySlot',
  objectOf<KeySlot>({
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
  objectOf<KeySlotList>({
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

  /** Only what readers accept for this kind. */
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

type Target = Pick<KeySlotWrite, 'slotId' | 'ifMatch' | 'by'>;

/** `:slotId`, `If-Match: "<updatedAt>", …` or `*`, and who writes. */
const TargetSlot = fromRequest((request): Target => ({
  slotId: (request.params as { slotId: string }).slotId.toLowerCase(),
  ifMatch: parseIfMatch(request.headers['if-match'], 'times of updatedAt'),
  by: byUser(request),
}));

@Controller('api/v1/workspaces/:id/key-slots')
@Documented(KEY_SLOTS_DOCS)
@OwnedWorkspace()
export class KeySlotsController {
  constructor(private readonly keySlots: KeySlots) {}

  @Get()
  @Scopes('documents:read')
  list(@CurrentWorkspace() { id }: WorkspaceRef): Promise<KeySlotList> {
    return this.keySlots.list(id);
  }

  @Put(':slotId')
  @Scopes('full')
  async put(
    @CurrentWorkspace() { id: workspaceId }: WorkspaceRef,
    @TargetSlot() target: Target,
    @JsonBody() { verificationHash, label = null, ...content }: PutKeySlotRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<KeySlot> {
    const write = { ...target, workspaceId, verificationHash };
    const { slot, isNew } = await this.keySlots.put(write, { label, ...content });
    reply.status(isNew ? 201 : 200);
    return slot;
  }

  @Delete(':slotId')
  @Scopes('full')
  async delete(
    @CurrentWorkspace() { id: workspaceId }: WorkspaceRef,
    @TargetSlot() target: Target,
    @JsonBody() { verificationHash }: DeleteKeySlotRequest,
  ): Promise<{ ok: true }> {
    await this.keySlots.delete({ ...target, workspaceId, verificationHash });
    return { ok: true };
  }
}
