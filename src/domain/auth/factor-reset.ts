import { Injectable } from '@nestjs/common';
import { type EntityManager, MoreThan } from 'typeorm';
import { type Acting, AuditLog, BY_OPERATOR } from './audit/index.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/index.js';
import { NotFound } from '../../platform/http/index.js';
import { AccessEndings } from './access-endings.js';
import { AuthSession } from './auth.entities.js';
import { SecondFactor } from './factors/index.js';
import { lockUser } from './account-fields.js';
import { Passkey } from './passkeys/index.js';

/** The numbers of factors, passkeys and sessions that a reset removes. */
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
    return this.database.transaction(async (tx) => {
      if (!(await lockUser(tx, userId))) throw new NotFound('user not found');
      const counts = await this.counts(tx.manager, userId);
      await this.endings.end(tx, userId, 'factors-reset-by-operator');
      const { factors, passkeys } = counts;
      await this.audit.record({ action: 'factor.reset', userId, ...by, details: { factors, passkeys } }, tx);
      return counts;
    });
  }

  /** The counts that `run` would return. */
  preview(userId: string): Promise<FactorCounts> {
    return this.counts(this.database.dataSource.manager, userId);
  }

  private async counts(manager: EntityManager, userId: string): Promise<FactorCounts> {
    const live = { userId, expiresAt: MoreThan(this.clock.now()) };
    return {
      factors: await manager.getRepository(SecondFactor).countBy({ userId, verified: true }),
      passkeys: await manager.getRepository(Passkey).countBy({ userId }),
      sessions: await manager.getRepository(AuthSession).countBy(live),
    };
  }
}
