import { Injectable } from '@nestjs/common';
import { ArrayNotEmpty, IsArray, IsIn, IsOptional, isUUID, IsUUID } from 'class-validator';
import { type Principal, type Scope, SCOPES } from '../access/index.js';
import { type Acting, AuditLog } from '../audit/index.js';
import { Authenticator, generatePat, hashPat, lockOwnUser, TOKEN_REVOKED } from '../auth/index.js';
import { Clock, parseInstant } from '../platform/clock/index.js';
import { AFTER_ALL_IDS, Database, newId, pagesById, statement } from '../platform/database/index.js';
import { EventBus } from '../platform/events/index.js';
import {
  BadRequest,
  Conflict,
  IsInstant,
  IsName,
  NotFound,
  notFoundIfPurged,
  StrictBody,
} from '../platform/http/index.js';
import { RateLimiter } from '../platform/limits/index.js';
import { Workspaces } from '../workspaces/index.js';

/** Strict: without its scopes a token may do everything, without its workspace it is valid for all, without its end for ever. */
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

const COLUMNS = `id, name, scopes, workspace_id AS "workspaceId", created_at AS "createdAt", last_used_at AS "lastUsedAt",
            expires_at AS "expiresAt", revoked_at AS "revokedAt"`;

/** $2: the time. */
const IS_LIVE = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)';

export const accessTokenStatements = {
  /** Ids are UUIDv7: descending is newest first. */
  page: statement(
    'access_tokens.page',
    `SELECT ${COLUMNS} FROM access_tokens WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`,
  ),

  live: statement(
    'access_tokens.live',
    `SELECT ${COLUMNS} FROM access_tokens WHERE user_id = $1 AND ${IS_LIVE} ORDER BY id DESC LIMIT $3`,
  ),

  /** $3: the maximum number of live tokens per user. */
  isFull: statement(
    'access_tokens.is_full',
    `SELECT EXISTS (
       SELECT 1 FROM access_tokens WHERE user_id = $1 AND ${IS_LIVE} OFFSET $3::integer - 1
     ) AS "isFull"`,
  ),

  insert: statement(
    'access_tokens.insert',
    `INSERT INTO access_tokens (id, user_id, name, token_hash, scopes, workspace_id, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
  ),

  /** Deletes ended tokens beyond the $3 newest, at most $4 at a time. */
  forgetEnded: statement(
    'access_tokens.forget_ended',
    `DELETE FROM access_tokens WHERE id IN (
       SELECT id FROM access_tokens WHERE user_id = $1 AND NOT (${IS_LIVE}) ORDER BY id DESC OFFSET $3 LIMIT $4
     )`,
  ),

  /** Returns one row if the token exists, whether or not it was already revoked. */
  revoke: statement(
    'access_tokens.revoke',
    `WITH revoked AS (
       UPDATE access_tokens SET revoked_at = $3 WHERE id = $2 AND user_id = $1 AND revoked_at IS NULL RETURNING id
     )
     SELECT name, EXISTS (SELECT 1 FROM revoked) AS "isNew" FROM access_tokens WHERE id = $2 AND user_id = $1`,
  ),
};

/** A personal access token as its owner sees it. The service does not know the token itself: the row has its SHA-256. */
export interface AccessToken {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Null when the token is valid for all workspaces of its owner. */
  readonly workspaceId: string | null;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

/** Who creates a token, and the session in which that happens: a token must not be made from one that has ended. */
export type TokenOwner = Pick<Principal, 'userId' | 'sessionId'>;

const MINTS_PER_MINUTE = 20;

const PAGE = 500;

/** Live tokens of one user: neither revoked nor expired. */
const MAX_LIVE = 1_000;

/** Ended tokens of one user that stay listed; older ones are deleted. */
const MAX_ENDED = 10_000;

/** How many ended tokens are deleted with each new token. */
const FORGOTTEN_AT_ONCE = 1_000;

/** Manages personal access tokens for their owners. The auth module verifies them. */
@Injectable()
export class AccessTokens {
  constructor(
    private readonly database: Database,
    private readonly workspaces: Workspaces,
    private readonly authenticator: Authenticator,
    private readonly rateLimiter: RateLimiter,
    private readonly audit: AuditLog,
    private readonly clock: Clock,
    private readonly bus: EventBus,
  ) {}

  /** Newest first, revoked and expired ones included, page by page; never the tokens themselves. */
  list(userId: string): AsyncGenerator<AccessToken[], void> {
    return pagesById(AFTER_ALL_IDS, PAGE, (below) =>
      this.database.run<AccessToken>(accessTokenStatements.page, [userId, below, PAGE]),
    );
  }

  /** The live tokens, newest first, at most `limit`. */
  live(userId: string, limit: number): Promise<AccessToken[]> {
    return this.database.run<AccessToken>(accessTokenStatements.live, [userId, this.clock.now(), limit]);
  }

  /**
   * Creates a token. `raw` is returned only here: the row has its SHA-256.
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
    await this.insert(owner, token, hashPat(raw), by);
    return { token, raw };
  }

  /** Takes effect with the next request on every instance; the row stays listed. Idempotent. @throws NotFound */
  async revoke(userId: string, id: string, by: Acting): Promise<void> {
    if (!isUUID(id)) throw new NotFound('token not found');
    await this.database.transaction(async (tx) => {
      const values = [userId, id, this.clock.now()];
      const [found] = await tx.run<{ name: string; isNew: boolean }>(accessTokenStatements.revoke, values);
      if (!found) throw new NotFound('token not found');
      const details = { name: found.name };
      if (found.isNew) await this.audit.record({ action: 'token.revoked', userId, ...by, details }, tx);
    });
    this.bus.publish({ topic: TOKEN_REVOKED, key: id });
  }

  private async insert(owner: TokenOwner, token: AccessToken, hash: Buffer, by: Acting): Promise<void> {
    const { userId } = owner;
    const { id, name, scopes, workspaceId, createdAt, expiresAt } = token;
    try {
      await this.database.transaction(async (tx) => {
        await lockOwnUser(tx, userId);
        await this.authenticator.requireSession(owner, tx); // it cannot end before the token is committed
        const cap = [userId, createdAt, MAX_LIVE];
        const [found] = await tx.run<{ isFull: boolean }>(accessTokenStatements.isFull, cap);
        if (found?.isFull)
          throw new Conflict(`a user can have at most ${MAX_LIVE} access tokens: revoke one first`);
        const row = [id, userId, name, hash, scopes, workspaceId, createdAt, expiresAt];
        await tx.run(accessTokenStatements.insert, row);
        const details = { name, scopes: scopes.join(' ') };
        await this.audit.record({ action: 'token.minted', userId, ...by, details }, tx);
        const surplus = [userId, createdAt, MAX_ENDED, FORGOTTEN_AT_ONCE];
        await tx.run(accessTokenStatements.forgetEnded, surplus);
      });
    } catch (error) {
      throw notFoundIfPurged(error);
    }
  }
}
