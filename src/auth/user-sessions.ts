import { Injectable } from '@nestjs/common';
import { type Acting, AuditLog } from '../audit/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, statement } from '../platform/database/index.js';
import { NotFound } from '../platform/http/index.js';
import { AccessEndings } from './access-endings.js';
import { lockUser } from './lock-user.js';

export interface ListedSession {
  readonly id: string;
  readonly ip: string;
  readonly userAgent: string;
  readonly createdAt: Date;
  /** When its expiry was last extended, at most once a day. */
  readonly updatedAt: Date;
}

/** How many sessions are listed. Scripts that sign in each time they run leave many behind. */
export const MOST_LISTED = 100;

/**
 * Replaces the library's list, which returns a hundred sessions in no order, usually the oldest: an intruder's would be missing.
 */
const userSessionStatements = {
  list: statement(
    'user_sessions.list',
    `SELECT id, coalesce(ip_address, '') AS ip, coalesce(user_agent, '') AS "userAgent",
            created_at AS "createdAt", updated_at AS "updatedAt"
     FROM auth_sessions WHERE user_id = $1 AND expires_at > $2
     ORDER BY id = $3 DESC, created_at DESC, id DESC LIMIT $4`,
  ),

  /** $2 is an id or a token. The value of a one-time token is the token of the session that it opens. */
  end: statement(
    'user_sessions.end',
    `WITH ended AS (DELETE FROM auth_sessions WHERE user_id = $1 AND (id::text = lower($2) OR token = $2) RETURNING token),
          forgotten AS (DELETE FROM auth_verifications
                        WHERE identifier LIKE 'one-time-token:%' AND value IN (SELECT token FROM ended))
     SELECT 1 FROM ended`,
  ),
};

/** All sessions of a user, in browsers and apps. */
@Injectable()
export class UserSessions {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly audit: AuditLog,
    private readonly endings: AccessEndings,
  ) {}

  /** The live sessions: the current one first, then the newest, at most `MOST_LISTED`. */
  list(userId: string, currentId: string): Promise<ListedSession[]> {
    const values = [userId, this.clock.now(), currentId, MOST_LISTED];
    return this.database.run<ListedSession>(userSessionStatements.list, values);
  }

  /** @throws NotFound unless the id is a session of this user */
  async end(userId: string, id: string, by: Acting): Promise<void> {
    if (!(await this.endListed(userId, id, by))) throw new NotFound('session not found');
  }

  /**
   * @param idOrToken the id that the user sees, or the token that only the session's own client has
   * @returns whether the user has this session
   */
  async endListed(userId: string, idOrToken: string, by: Acting): Promise<boolean> {
    if (idOrToken.includes('\0')) return false; // PostgreSQL would refuse it as text
    return this.database.transaction(async (tx) => {
      await lockUser(tx, userId); // in this order everywhere: who mints a token holds the user, then the session
      const ended = await tx.run(userSessionStatements.end, [userId, idOrToken]);
      if (ended.length === 0) return false;
      await this.endings.endUnfinished(tx, userId);
      await this.audit.record({ action: 'sessions.ended', userId, ...by, details: { sessions: 1 } }, tx);
      return true;
    });
  }

  /** Ends all sessions but one, or all. Returns how many. */
  endAllBut(userId: string, keptId: string | null, by: Acting): Promise<number> {
    return this.database.transaction(async (tx) => {
      await lockUser(tx, userId); // no session begins meanwhile
      const { sessions } = await this.endings.end(tx, userId, 'signed-out-everywhere', {
        ownSession: keptId,
      });
      if (sessions > 0)
        await this.audit.record({ action: 'sessions.ended', userId, ...by, details: { sessions } }, tx);
      return sessions;
    });
  }
}
