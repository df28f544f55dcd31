import { Injectable } from '@nestjs/common';
import { IsOptional, IsString, Length, Matches } from 'class-validator';
import { parseRecoveryKey, RecoveryKeyTypo, verificationHash } from '../../../crypto/src/index.js';
import { equalSecrets } from '../auth/index.js';
import { BadRequest, Conflict, Forbidden } from '../../platform/http/index.js';
import { RateLimiter } from '../../platform/limits/index.js';
import { Workspaces } from '../workspaces/index.js';
import { ifMasterKey, type LockedVault, SlotKeys } from './slot-keys.js';
import { PRIMITIVES } from './wipeable-keys.js';

/** 32 bytes in canonical standard base64. */
const KEY = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

/** Contains a password, a recovery key or the master key. */
export class OpenKeySessionRequest {
  @IsOptional()
  @Length(1, 1024, { message: 'password must be 1 to 1024 characters' })
  @IsString()
  password?: string | null;

  @IsOptional()
  @Length(1, 1024, { message: 'recoveryKey must be 1 to 1024 characters' })
  @IsString()
  recoveryKey?: string | null;

  @IsOptional()
  @Matches(KEY, { message: 'key must be 32 bytes in base64' })
  @IsString()
  key?: string | null;
}

const TRIES_PER_MINUTE = 10;

/** Finds a workspace's master key by a password or recovery key, or accepts a given key, and verifies it. */
@Injectable()
export class KeyCheck {
  constructor(
    private readonly workspaces: Workspaces,
    private readonly slotKeys: SlotKeys,
    private readonly rateLimiter: RateLimiter,
  ) {}

  /**
   * Returns the master key, 32 bytes, which the caller must wipe, and the name of the workspace.
   * @throws BadRequest unless exactly one is given, and for a recovery key with a typing error; TooManyRequests after ten
   * attempts per minute; Conflict before encryption is set up and as SlotKeys; Forbidden when it is wrong;
   * ServiceUnavailable when too many sessions are being opened
   */
  async masterKey(
    workspaceId: string,
    request: OpenKeySessionRequest,
  ): Promise<{ key: Uint8Array; name: string }> {
    const credential = await credentialOf(request);
    try {
      await this.rateLimiter.hit(`key-session:${workspaceId}`, TRIES_PER_MINUTE);
      const { name, ...vault } = await this.lockedVault(workspaceId);
      return { key: await credential.open(vault, this.slotKeys), name };
    } finally {
      credential.wipe();
    }
  }

  private async lockedVault(workspaceId: string): Promise<LockedVault & { name: string }> {
    const { userId, name, encryptionSalt, ...check } = await this.workspaces.get(workspaceId);
    if (encryptionSalt === null) throw new Conflict('encryption is not set up');
    const isMasterKey = async (key: Uint8Array): Promise<boolean> => {
      const proof = await verificationHash(key, check.verificationSalt ?? '', PRIMITIVES);
      return equalSecrets(proof, check.verificationHash ?? '');
    };
    return { workspaceId, userId, name, encryptionSalt, isMasterKey };
  }
}

/** The secret with which a request opens a vault. */
interface Credential {
  readonly open: (vault: LockedVault, slotKeys: SlotKeys) => Promise<Uint8Array>;
  readonly wipe: () => void;
}

/** @throws BadRequest */
async function credentialOf({ password, recoveryKey, key }: OpenKeySessionRequest): Promise<Credential> {
  const given = [password, recoveryKey, key].filter((credential) => credential != null);
  if (given.length !== 1) throw new BadRequest('exactly one of password, recoveryKey and key is required');
  if (password != null)
    return { open: (vault, slotKeys) => slotKeys.byPassword(vault, password), wipe: () => undefined };
  if (recoveryKey != null) {
    const bytes = await bytesOfRecoveryKey(recoveryKey);
    return { open: (vault, slotKeys) => slotKeys.byRecoveryKey(vault, bytes), wipe: () => bytes.fill(0) };
  }
  return { open: (vault) => checkedKey(vault, key ?? ''), wipe: () => undefined };
}

/** @throws BadRequest for a typing error */
async function bytesOfRecoveryKey(text: string): Promise<Uint8Array> {
  try {
    return await parseRecoveryKey(text);
  } catch (error) {
    if (error instanceof RecoveryKeyTypo) throw new BadRequest(error.message);
    throw error;
  }
}

async function checkedKey(vault: LockedVault, text: string): Promise<Uint8Array> {
  const given = Buffer.alloc(32); // not Buffer.from, whose result may share its memory with other buffers
  given.write(text, 'base64');
  const key = await ifMasterKey(vault, given);
  if (!key) throw new Forbidden('the key is wrong');
  return key;
}
