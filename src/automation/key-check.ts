import { Injectable } from '@nestjs/common';
import { IsOptional, IsString, Length, Matches } from 'class-validator';
import { equalSecrets } from '../auth/index.js';
import { BadRequest, Conflict, Forbidden } from '../platform/http/index.js';
import { type FairSemaphore, Queues, RateLimiter } from '../platform/limits/index.js';
import { Workspaces } from '../workspaces/index.js';
import { deriveMasterKey, verificationHash } from './vault-crypto.js';

/** 32 bytes in canonical standard base64. */
const KEY = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

/** Contains either a password or a key. */
export class OpenKeySessionRequest {
  @IsOptional()
  @Length(1, 1024, { message: 'password must be 1 to 1024 characters' })
  @IsString()
  password?: string | null;

  @IsOptional()
  @Matches(KEY, { message: 'key must be 32 bytes in base64' })
  @IsString()
  key?: string | null;
}

const TRIES_PER_MINUTE = 10;

/**
 * Each derivation occupies one of libuv's four threads, which file I/O also needs, for a fraction of a second.
 * Attempts are rate-limited per workspace, and a user may have many workspaces.
 */
const DERIVATIONS = {
  atOnce: 2,
  waiting: 64,
  perOwner: { atOnce: 1, waiting: 16 },
  waitMs: 10_000,
  busy: 'too many key sessions are being opened',
};

/** Derives a workspace's master key from a password, or accepts a given key, and verifies it. */
@Injectable()
export class KeyCheck {
  private readonly derivations: FairSemaphore;

  constructor(
    private readonly workspaces: Workspaces,
    private readonly rateLimiter: RateLimiter,
    queues: Queues,
  ) {
    this.derivations = queues.open('key_derivations', DERIVATIONS);
  }

  /**
   * Returns the master key, 32 bytes; the caller must wipe it. A wrong password takes as much work as the right one.
   * @throws BadRequest unless exactly one is given, TooManyRequests after ten attempts per minute, Conflict before
   * encryption is set up, Forbidden when it is wrong, ServiceUnavailable when too many sessions are being opened
   */
  async masterKey(workspaceId: string, request: OpenKeySessionRequest): Promise<Buffer> {
    if ((request.password == null) === (request.key == null))
      throw new BadRequest('exactly one of password and key is required');
    await this.rateLimiter.hit(`key-session:${workspaceId}`, TRIES_PER_MINUTE);
    const workspace = await this.workspaces.get(workspaceId);
    if (workspace.encryptionSalt === null) throw new Conflict('encryption is not set up');

    const key = await this.keyOf(request, workspace.userId, workspace.encryptionSalt);
    const hash = verificationHash(key, workspace.verificationSalt ?? '');
    if (equalSecrets(hash, workspace.verificationHash ?? '')) return key;
    key.fill(0);
    throw new Forbidden(request.key == null ? 'the password is wrong' : 'the key is wrong');
  }

  private async keyOf(
    { password, key }: OpenKeySessionRequest,
    userId: string,
    encryptionSalt: string,
  ): Promise<Buffer> {
    if (key == null) {
      const derive = (): Promise<Buffer> => deriveMasterKey(password ?? '', encryptionSalt);
      return this.derivations.during(userId, derive);
    }
    const decoded = Buffer.alloc(32); // not Buffer.from, whose result may share its memory with other buffers
    decoded.write(key, 'base64');
    return decoded;
  }
}
