import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { Any, IsNull, LessThanOrEqual, Or, Repository } from 'typeorm';
import { AccountSuspended, type Principal, type Scope } from '../../access/index.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/index.js';
import { Unauthorized } from '../../platform/http/index.js';
import { Log } from '../../platform/log.js';
import { AccessToken, liveTokens } from './auth.entities.js';
import { accessTokenStatements } from './auth.queries.js';

/** `pat_` and 43 base64url characters. */
export const PAT = /^pat_[A-Za-z0-9_-]{43}$/;

/** Topic of the event bus: a personal access token was revoked; the key is its id. */
export const TOKEN_REVOKED = 'token-revoked';

/** Generates a personal access token: 32 random bytes after the prefix that secret scanners recognize. */
export function generatePat(): string {
  return `pat_${randomBytes(32).toString('base64url')}`;
}

/** The hash that the database stores. Unsalted, so that a token can be looked up by its hash; 32 random bytes need no salt. */
export function hashPat(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Compares in constant time; hashing makes the lengths equal. */
export function equalSecrets(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
}

const NOTE_USE_EVERY_MS = 60_000;

interface PatRow {
  id: string;
  userId: string;
  scopes: Scope[];
  workspaceId: string | null;
  expiresAt: Date | null;
  lastUsedAt: Date | null;
  isSuspended: boolean;
}

/** Verifies personal access tokens. Nothing is cached: a revoked token is refused from the next request on, on every instance. */
@Injectable()
export class PatVerifier {
  constructor(
    @InjectRepository(AccessToken) private readonly tokens: Repository<AccessToken>,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /** @throws Unauthorized for a malformed, unknown, revoked or expired token, AccountSuspended */
  async verify(token: string): Promise<Principal> {
    if (!PAT.test(token)) throw new Unauthorized();
    const now = this.clock.now();
    const [row] = await this.database.run<PatRow>(accessTokenStatements.find, [hashPat(token), now]);
    if (!row) throw new Unauthorized();
    if (row.isSuspended) throw new AccountSuspended();
    await this.recordUse(row, now);
    const { id: tokenId, userId, scopes, workspaceId, expiresAt } = row;
    return { userId, scopes, tokenId, workspaceId, expiresAt };
  }

  /** The ids among `ids` whose tokens are neither revoked nor expired. */
  async activeAmong(ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const where = { id: Any(ids), ...liveTokens(this.clock.now()) };
    const rows = await this.tokens.find({ select: { id: true }, where });
    return new Set(rows.map(({ id }) => id));
  }

  /** Writes at most once a minute per token. */
  private async recordUse({ id, lastUsedAt }: PatRow, now: Date): Promise<void> {
    const due = new Date(now.getTime() - NOTE_USE_EVERY_MS);
    if (lastUsedAt && lastUsedAt > due) return;
    await this.log.bestEffort('record the use of a token', () =>
      // Many concurrent requests see the same old time; the condition lets one of them write.
      this.tokens.update({ id, lastUsedAt: Or(IsNull(), LessThanOrEqual(due)) }, { lastUsedAt: now }),
    );
  }
}
