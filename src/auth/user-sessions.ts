import { Inject, Injectable } from '@nestjs/common';
import { isUUID } from 'class-validator';
import { Clock } from '../platform/clock/index.js';
import { Database, statement } from '../platform/database/index.js';
import { NotFound } from '../platform/http/index.js';
import type { Identity } from './identity.js';
import { IDENTITY } from './identity.provider.js';

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

/** How many sessions are ended at a time. */
const BATCH = 1_000;

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

  tokenOf: statement(
    'user_sessions.token_of',
    'SELECT token FROM auth_sessions WHERE user_id = $1 AND id = $2',
  ),

  tokensBut: statement(
    'user_sessions.tokens_but',
    'SELECT token FROM auth_sessions WHERE user_id = $1 AND id <> $2 LIMIT $3',
  ),
};

/** All sessions of a user, in browsers and apps. */
@Injectable()
export class UserSessions {
  constructor(
    @Inject(IDENTITY) private readonly identity: Identity,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** The live sessions: the current one first, then the newest, at most `MOST_LISTED`. */
  list(userId: string, currentId: string): Promise<ListedSession[]> {
    const values = [userId, this.clock.now(), currentId, MOST_LISTED];
    return this.database.run<ListedSession>(userSessionStatements.list, values);
  }

  /** @throws NotFound unless the id is a session of this user */
  async end(userId: string, id: string): Promise<void> {
    const [session] = isUUID(id)
      ? await this.database.run<{ token: string }>(userSessionStatements.tokenOf, [userId, id])
      : [];
    if (!session) throw new NotFound('session not found');
    await (await this.identity.$context).internalAdapter.deleteSession(session.token);
  }

  /** Ends all sessions but one. */
  async endOthers(userId: string, keptId: string): Promise<void> {
    const { internalAdapter } = await this.identity.$context;
    for (;;) {
      const values = [userId, keptId, BATCH];
      const others = await this.database.run<{ token: string }>(userSessionStatements.tokensBut, values);
      if (others.length === 0) return;
      await internalAdapter.deleteSessions(others.map(({ token }) => token));
    }
  }
}
