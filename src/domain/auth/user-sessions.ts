import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { MoreThan, Not, Repository } from 'typeorm';
import { type Acting, AuditLog } from './audit/index.js';
import { Clock } from '../../platform/clock/index.js';
import { Database } from '../../platform/database/index.js';
import { NotFound } from '../../platform/http/index.js';
import { AccessEndings } from './access-endings.js';
import { AuthSession } from './auth-session.entity.js';
import { sessionStatements } from './auth.queries.js';
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

/** All sessions of a user, in browsers and apps. */
@Injectable()
export class UserSessions {
  constructor(
    @InjectRepository(AuthSession) private readonly sessions: Repository<AuthSession>,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly audit: AuditLog,
    private readonly endings: AccessEndings,
  ) {}

  /**
   * The live sessions: the current one first, then the newest, at most `MOST_LISTED`. The library's list returns a hundred in no
   * order, usually the oldest: an intruder's would be missing.
   */
  async list(userId: string, currentId: string): Promise<ListedSession[]> {
    const live = { userId, expiresAt: MoreThan(this.clock.now()) };
    const current = await this.sessions.findBy({ ...live, id: currentId });
    const others = await this.sessions.find({
      where: { ...live, id: Not(currentId) },
      order: { createdAt: 'DESC', id: 'DESC' },
      take: MOST_LISTED - current.length,
    });
    return [...current, ...others].map(({ id, ipAddress, userAgent, createdAt, updatedAt }) => ({
      ...{ id, createdAt, updatedAt },
      ...{ ip: ipAddress ?? '', userAgent: userAgent ?? '' },
    }));
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
      const ended = await tx.run(sessionStatements.end, [userId, idOrToken]);
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
