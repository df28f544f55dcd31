import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock/index.js';
import { Database, statement } from '../platform/database/index.js';
import { Unauthorized } from '../platform/http/index.js';
import { Log } from '../platform/log/index.js';
import { AccountSuspended } from './suspensions.js';
import { hashPat, PAT } from './token-secrets.js';
import type { Principal, Scope } from '../access/index.js';

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

const findActive = statement(
  'auth.find_active_pat',
  `SELECT t.id, user_id AS "userId", scopes, workspace_id AS "workspaceId", expires_at AS "expiresAt",
          last_used_at AS "lastUsedAt", u.suspended_at IS NOT NULL AS "isSuspended"
   FROM access_tokens t JOIN users u ON u.id = t.user_id
   WHERE token_hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
);

/** Many concurrent requests see the same old time; the condition lets one of them write. */
const recordUse = statement(
  'auth.note_pat_use',
  `UPDATE access_tokens SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3)`,
);

/** Verifies personal access tokens. Nothing is cached: a revoked token is refused from the next request on, on every instance. */
@Injectable()
export class PatVerifier {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /** @throws Unauthorized for a malformed, unknown, revoked or expired token, AccountSuspended */
  async verify(token: string): Promise<Principal> {
    if (!PAT.test(token)) throw new Unauthorized();
    const now = this.clock.now();
    const [row] = await this.database.run<PatRow>(findActive, [hashPat(token), now]);
    if (!row) throw new Unauthorized();
    if (row.isSuspended) throw new AccountSuspended();
    await this.recordUse(row, now);
    const { id: tokenId, userId, scopes, workspaceId, expiresAt } = row;
    return { userId, scopes, tokenId, workspaceId, expiresAt };
  }

  /** Writes at most once a minute per token. */
  private async recordUse({ id, lastUsedAt }: PatRow, now: Date): Promise<void> {
    const due = new Date(now.getTime() - NOTE_USE_EVERY_MS);
    if (lastUsedAt && lastUsedAt > due) return;
    await this.log.bestEffort('record the use of a token', () =>
      this.database.run(recordUse, [id, now, due]),
    );
  }
}
