import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { Database } from '../../platform/database/index.js';
import { AuthSession } from './auth-session.entity.js';
import { sessionStatements } from './auth.queries.js';
import { lockUser } from './lock-user.js';

/** Sessions per user. */
export const MAX_SESSIONS = 200;

/** Unused one-time tokens per session. */
const MAX_ONE_TIME_TOKENS = 100;

/** How many rows the library reads at a time: it lists and ends sessions in one query, and ignores any rows beyond the limit. */
export const LIBRARY_READS_AT_MOST = 5 * MAX_SESSIONS;

/**
 * Limits the sessions and one-time tokens that signing in leaves behind. The identity library commits each row on its own
 * connection, and both methods run after that commit: of several concurrent calls the last sees all rows, so the limits hold on
 * any number of instances.
 */
@Injectable()
export class SessionCap {
  constructor(
    @InjectRepository(AuthSession) private readonly sessions: Repository<AuthSession>,
    private readonly database: Database,
  ) {}

  /**
   * Ends the user's sessions beyond `MAX_SESSIONS`, with their one-time tokens. The new session is kept, unless this fails: then
   * it is ended, and nobody gets its token.
   */
  async begun({ id, userId }: { id: string; userId: string }): Promise<void> {
    try {
      await this.database.transaction(async (tx) => {
        // Serialized: two concurrent deletions could wait for each other's rows.
        if (await lockUser(tx, userId))
          await tx.run(sessionStatements.endSurplus, [userId, id, MAX_SESSIONS]);
      });
    } catch (error) {
      await this.sessions.delete({ id });
      throw error;
    }
  }

  /** Deletes the oldest one-time tokens of the session beyond 100. */
  async minted({ value }: { value: string }): Promise<void> {
    await this.database.run(sessionStatements.forgetSurplusTokens, [value, MAX_ONE_TIME_TOKENS]);
  }
}
