import { Injectable } from '@nestjs/common';
import { type Acting, AuditLog, BY_OPERATOR } from '../audit/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, statement } from '../platform/database/index.js';
import { NotFound } from '../platform/http/index.js';
import { AccessEndings } from './access-endings.js';
import { lockUser } from './lock-user.js';

const COUNTS = `
  (SELECT count(*)::integer FROM auth_two_factors WHERE user_id = $1 AND verified) AS factors,
  (SELECT count(*)::integer FROM auth_passkeys WHERE user_id = $1) AS passkeys,
  (SELECT count(*)::integer FROM auth_sessions WHERE user_id = $1 AND expires_at > $2) AS sessions`;

const resetStatements = {
  counts: statement('factor_reset.counts', `SELECT ${COUNTS}`),
};

/** What a reset removes. */
export interface FactorCounts {
  /** 1 with a second factor, else 0. */
  readonly factors: number;
  readonly passkeys: number;
  /** The live sessions. */
  readonly sessions: number;
}

/** Removes the second factor and the passkeys of a user who has lost them. */
@Injectable()
export class FactorReset {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly audit: AuditLog,
    private readonly endings: AccessEndings,
  ) {}

  /**
   * Removes the second factor, its backup codes and all passkeys, and ends every session with its one-time tokens, atomically.
   * The password stays. Returns what there was. @throws NotFound
   */
  async run(userId: string, by: Acting = BY_OPERATOR): Promise<FactorCounts> {
    const now = this.clock.now();
    return this.database.transaction(async (tx) => {
      if (!(await lockUser(tx, userId))) throw new NotFound('user not found');
      const [counts] = await tx.run<FactorCounts>(resetStatements.counts, [userId, now]);
      if (!counts) throw new NotFound('user not found');
      await this.endings.end(tx, userId, 'factors-reset-by-operator');
      const { factors, passkeys } = counts;
      await this.audit.record({ action: 'factor.reset', userId, ...by, details: { factors, passkeys } }, tx);
      return counts;
    });
  }

  /** What `run` would remove. */
  async preview(userId: string): Promise<FactorCounts> {
    const values = [userId, this.clock.now()];
    const [counts] = await this.database.run<FactorCounts>(resetStatements.counts, values);
    return counts ?? { factors: 0, passkeys: 0, sessions: 0 };
  }
}
