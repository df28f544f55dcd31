import { Injectable } from '@nestjs/common';
import { isUUID } from 'class-validator';
import type { Scope } from '../access/index.js';
import { generatePat, hashPat, lockOwnUser, TOKEN_REVOKED } from '../auth/index.js';
import { Clock, parseInstant } from '../platform/clock/index.js';
import { AFTER_ALL_IDS, Database, newId, pagesById } from '../platform/database/index.js';
import { EventBus } from '../platform/events/index.js';
import { BadRequest, Conflict, NotFound, notFoundIfPurged } from '../platform/http/index.js';
import { RateLimiter } from '../platform/limits/index.js';
import { Workspaces } from '../workspaces/index.js';
import type { AccessToken } from './access-token.js';
import type { MintTokenRequest } from './access-tokens.dto.js';
import { accessTokenStatements } from './access-tokens.queries.js';

const MINTS_PER_MINUTE = 20;

const PAGE = 500;

/** Live tokens of one user: neither revoked nor expired. */
const MAX_LIVE = 1_000;

/** Ended tokens of one user that stay listed; older ones are deleted. */
const MAX_ENDED = 10_000;

/** How many ended ones are forgotten with each new token. */
const FORGOTTEN_AT_ONCE = 1_000;

/** Personal access tokens, as their owner manages them. Verifying one is the business of auth. */
@Injectable()
export class AccessTokens {
  constructor(
    private readonly database: Database,
    private readonly workspaces: Workspaces,
    private readonly rateLimiter: RateLimiter,
    private readonly clock: Clock,
    private readonly bus: EventBus,
  ) {}

  /** Newest first, revoked and expired ones included, page by page; never the tokens themselves. */
  list(userId: string): AsyncGenerator<AccessToken[], void> {
    return pagesById(AFTER_ALL_IDS, PAGE, (below) =>
      this.database.run<AccessToken>(accessTokenStatements.page, [userId, below, PAGE]),
    );
  }

  /** The usable tokens, newest first, at most `limit`. */
  live(userId: string, limit: number): Promise<AccessToken[]> {
    return this.database.run<AccessToken>(accessTokenStatements.live, [userId, this.clock.now(), limit]);
  }

  /**
   * A new token. `raw` is the only time it is ever seen: the row has its SHA-256.
   * @throws BadRequest for an expiry that is not ahead, NotFound for a workspace that is not the caller's, Conflict when
   * the user has 1,000 live tokens, Unauthorized when the account has just gone
   */
  async mint(userId: string, request: MintTokenRequest): Promise<{ token: AccessToken; raw: string }> {
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
      name: request.name,
      workspaceId,
      createdAt: now,
      lastUsedAt: null,
      expiresAt,
      revokedAt: null,
      scopes: [...new Set<Scope>(request.scopes ?? ['full'])],
    };
    await this.insert(userId, token, hashPat(raw));
    return { token, raw };
  }

  /** Takes effect with the next request on every instance; the row stays listed. Again: no change. @throws NotFound */
  async revoke(userId: string, id: string): Promise<void> {
    const values = [userId, id, this.clock.now()];
    const found = isUUID(id) ? await this.database.run(accessTokenStatements.revoke, values) : [];
    if (found.length === 0) throw new NotFound('token not found');
    this.bus.publish({ topic: TOKEN_REVOKED, key: id });
  }

  private async insert(userId: string, token: AccessToken, hash: Buffer): Promise<void> {
    const { id, name, scopes, workspaceId, createdAt, expiresAt } = token;
    try {
      await this.database.transaction(async (tx) => {
        await lockOwnUser(tx, userId);
        const cap = [userId, createdAt, MAX_LIVE];
        const [found] = await tx.run<{ isFull: boolean }>(accessTokenStatements.isFull, cap);
        if (found?.isFull)
          throw new Conflict(`a user has ${MAX_LIVE} access tokens at most: revoke one first`);
        const row = [id, userId, name, hash, scopes, workspaceId, createdAt, expiresAt];
        await tx.run(accessTokenStatements.insert, row);
        const surplus = [userId, createdAt, MAX_ENDED, FORGOTTEN_AT_ONCE];
        await tx.run(accessTokenStatements.forgetEnded, surplus);
      });
    } catch (error) {
      throw notFoundIfPurged(error);
    }
  }
}
