import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Any, IsNull, LessThanOrEqual, Or, Repository } from 'typeorm';
import { Clock } from '../../platform/clock/index.js';
import { Database } from '../../platform/database/index.js';
import { Unauthorized } from '../../platform/http/index.js';
import { Log } from '../../platform/log/index.js';
import { AccessToken, liveTokens } from './access-token.entity.js';
import { accessTokenStatements } from './auth.queries.js';
import { AccountSuspended, type Principal, type Scope } from '../../access/index.js';
import { hashPat, PAT } from './token-secrets.js';

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
