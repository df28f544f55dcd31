import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { ArrayNotEmpty, IsArray, IsIn, IsOptional, isUUID, IsUUID } from 'class-validator';
import { In, IsNull, LessThan, LessThanOrEqual, Not, Repository } from 'typeorm';
import { type Principal, type Scope, SCOPES } from '../../../access/index.js';
import { type Acting, AuditLog } from '../audit/index.js';
import {
  AccessToken,
  Authenticator,
  generatePat,
  hashPat,
  liveTokens,
  lockOwnUser,
  TOKEN_REVOKED,
} from '../index.js';
import { Clock, parseInstant } from '../../../platform/clock.js';
import { AFTER_ALL_IDS, Database, newId, pagesById } from '../../../platform/database/index.js';
import { EventBus } from '../../../platform/events/index.js';
import {
  BadRequest,
  Conflict,
  IsInstant,
  IsName,
  NotFound,
  notFoundIfPurged,
  StrictBody,
} from '../../../platform/http/index.js';
import { RateLimiter } from '../../../platform/limits/index.js';
import { Workspaces } from '../../workspaces/index.js';

/** Strict: a misspelt field would silently create a token with all rights, for all workspaces, or without an expiry. */
@StrictBody()
export class MintTokenRequest {
  @IsName()
  name: string;

  @IsOptional()
  @IsInstant()
  expiresAt?: string | null;

  @IsOptional()
  @IsIn(SCOPES, { each: true, message: `scopes must be one or more of ${SCOPES.join(', ')}` })
  @ArrayNotEmpty()
  @IsArray()
  scopes?: Scope[] | null;

  @IsOptional()
  @IsUUID()
  workspaceId?: string | null;
}

/** The creator of a token and the creating session, which must not have ended. */
export type TokenOwner = Pick<Principal, 'userId' | 'sessionId'>;

const MINTS_PER_MINUTE = 20;

const PAGE = 500;

/** Live tokens of one user: neither revoked nor expired. */
const MAX_LIVE = 1_000;

/** Ended tokens of one user that stay listed; older ones are deleted. */
const MAX_ENDED = 10_000;

/** Ended tokens deleted with each new token, at most. */
const FORGOTTEN_AT_ONCE = 1_000;

/** Manages personal access tokens for their owners. The auth module verifies them. */
@Injectable()
export class AccessTokens {
  constructor(
    @InjectRepository(AccessToken) private readonly tokens: Repository<AccessToken>,
    private readonly database: Database,
    private readonly workspaces: Workspaces,
    private readonly authenticator: Authenticator,
    private readonly rateLimiter: RateLimiter,
    private readonly audit: AuditLog,
    private readonly clock: Clock,
    private readonly bus: EventBus,
  ) {}

  /** Pages of tokens without their secrets, newest first, including revoked and expired ones. */
  list(userId: string): AsyncGenerator<AccessToken[], void> {
    return pagesById(AFTER_ALL_IDS, PAGE, (below) =>
      this.tokens.find({ where: { userId, id: LessThan(below) }, order: { id: 'DESC' }, take: PAGE }),
    );
  }

  /** The live tokens, newest first, at most `limit`. */
  live(userId: string, limit: number): Promise<AccessToken[]> {
    return this.tokens.find({
      where: { userId, ...liveTokens(this.clock.now()) },
      order: { id: 'DESC' },
      take: limit,
    });
  }

  /**
   * Creates a token. `raw` is not stored: the row has its SHA-256.
   * @throws BadRequest for an expiry that is not in the future, NotFound for a workspace that is not the caller's, Conflict when
   *   the user has 1,000 live tokens, SessionEnded, Unauthorized when the account has just been deleted
   */
  async mint(
    owner: TokenOwner,
    request: MintTokenRequest,
    by: Acting,
  ): Promise<{ token: AccessToken; raw: string }> {
    const { userId } = owner;
    await this.rateLimiter.hit(`mint:${userId}`, MINTS_PER_MINUTE);
    const now = this.clock.now();
    const expiresAt = request.expiresAt ? parseInstant(request.expiresAt) : null;
    if (expiresAt && !(expiresAt > now))
      throw new BadRequest('expiresAt must be an ISO 8601 time in the future');
    const workspaceId = request.workspaceId?.toLowerCase() ?? null;
    if (workspaceId) await this.workspaces.requireOwned(workspaceId, { userId, workspaceId: null });

    const raw = generatePat();
    const token: AccessToken = {
      id: newId(),
      userId,
      name: request.name,
      tokenHash: hashPat(raw),
      workspaceId,
      createdAt: now,
      lastUsedAt: null,
      expiresAt,
      revokedAt: null,
      scopes: [...new Set<Scope>(request.scopes ?? ['full'])],
    };
    await this.insert(owner, token, by);
    return { token, raw };
  }

  /** Takes effect with the next request on every instance; the row stays listed. Idempotent. @throws NotFound */
  async revoke(userId: string, id: string, by: Acting): Promise<void> {
    if (!isUUID(id)) throw new NotFound('token not found');
    await this.database.transaction(async (tx) => {
      const tokens = tx.manager.getRepository(AccessToken);
      const found = await tokens.findOneBy({ id, userId });
      if (!found) throw new NotFound('token not found');
      const { affected } = await tokens.update({ id, revokedAt: IsNull() }, { revokedAt: this.clock.now() });
      const details = { name: found.name };
      if (affected === 1) await this.audit.record({ action: 'token.revoked', userId, ...by, details }, tx);
    });
    this.bus.publish({ topic: TOKEN_REVOKED, key: id });
  }

  private async insert(owner: TokenOwner, token: AccessToken, by: Acting): Promise<void> {
    const { userId, name, scopes, createdAt: now } = token;
    try {
      await this.database.transaction(async (tx) => {
        const tokens = tx.manager.getRepository(AccessToken);
        await lockOwnUser(tx, userId);
        await this.authenticator.requireSession(owner, tx); // it cannot end before the token is committed
        if ((await tokens.countBy({ userId, ...liveTokens(now) })) >= MAX_LIVE)
          throw new Conflict(`a user can have at most ${MAX_LIVE} access tokens: revoke one first`);
        await tokens.insert(token);
        const details = { name, scopes: scopes.join(' ') };
        await this.audit.record({ action: 'token.minted', userId, ...by, details }, tx);
        await deleteEnded(tokens, userId, now);
      });
    } catch (error) {
      throw notFoundIfPurged(error);
    }
  }
}

/** Deletes ended tokens beyond those that stay listed, at most FORGOTTEN_AT_ONCE. */
async function deleteEnded(tokens: Repository<AccessToken>, userId: string, now: Date): Promise<void> {
  const surplus = await tokens.find({
    select: { id: true },
    where: [
      { userId, revokedAt: Not(IsNull()) },
      { userId, expiresAt: LessThanOrEqual(now) },
    ],
    order: { id: 'DESC' },
    skip: MAX_ENDED,
    take: FORGOTTEN_AT_ONCE,
  });
  if (surplus.length > 0) await tokens.delete({ id: In(surplus.map(({ id }) => id)) });
}
