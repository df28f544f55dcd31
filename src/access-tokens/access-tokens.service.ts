import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { isUUID } from 'class-validator';
import { IsNull, Repository } from 'typeorm';
import { generatePat, hashPat, TOKEN_REVOKED } from '../auth/index.js';
import { Clock, parseInstant } from '../platform/clock/index.js';
import { newId } from '../platform/database/index.js';
import { EventBus } from '../platform/events/index.js';
import { BadRequest, NotFound, notFoundIfPurged } from '../platform/http/index.js';
import { RateLimiter } from '../platform/limits/index.js';
import { Workspaces } from '../workspaces/index.js';
import { AccessTokenEntity } from './access-token.entity.js';
import type { MintTokenRequest } from './access-tokens.dto.js';

const MINTS_PER_MINUTE = 20;

/** Personal access tokens, as their owner manages them. Verifying one is the business of auth. */
@Injectable()
export class AccessTokens {
  constructor(
    @InjectRepository(AccessTokenEntity) private readonly tokens: Repository<AccessTokenEntity>,
    private readonly workspaces: Workspaces,
    private readonly rateLimiter: RateLimiter,
    private readonly clock: Clock,
    private readonly bus: EventBus,
  ) {}

  /** Newest first, revoked and expired ones included; never the tokens themselves. */
  list(userId: string): Promise<AccessTokenEntity[]> {
    return this.tokens.find({ where: { userId }, order: { id: 'DESC' } });
  }

  /**
   * A new token. `raw` is the only time it is ever seen: the row has its SHA-256.
   * @throws BadRequest for an expiry that is not ahead, NotFound for a workspace that is not the caller's
   */
  async mint(userId: string, request: MintTokenRequest): Promise<{ token: AccessTokenEntity; raw: string }> {
    await this.rateLimiter.hit(`mint:${userId}`, MINTS_PER_MINUTE);
    const now = this.clock.now();
    const expiresAt = request.expiresAt ? parseInstant(request.expiresAt) : null;
    if (expiresAt && !(expiresAt > now))
      throw new BadRequest('expiresAt must be an ISO 8601 time in the future');
    const workspaceId = request.workspaceId?.toLowerCase() ?? null;
    if (workspaceId) await this.workspaces.requireOwned(workspaceId, { userId, workspaceId: null });

    const raw = generatePat();
    const token = {
      id: newId(),
      userId,
      name: request.name,
      tokenHash: hashPat(raw),
      workspaceId,
      createdAt: now,
      lastUsedAt: null,
      expiresAt,
      revokedAt: null,
      scopes: [...new Set(request.scopes ?? ['full' as const])],
    };
    await this.insert(token);
    return { token, raw };
  }

  /** Takes effect with the next request on every instance; the row stays listed. Again: no change. @throws NotFound */
  async revoke(userId: string, id: string): Promise<void> {
    const token = isUUID(id) ? await this.tokens.findOneBy({ id, userId }) : null;
    if (!token) throw new NotFound('token not found');
    await this.tokens.update({ id, userId, revokedAt: IsNull() }, { revokedAt: this.clock.now() });
    this.bus.publish({ topic: TOKEN_REVOKED, key: id });
  }

  private async insert(token: AccessTokenEntity): Promise<void> {
    try {
      await this.tokens.insert(token);
    } catch (error) {
      throw notFoundIfPurged(error);
    }
  }
}
