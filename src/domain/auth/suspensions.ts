import { Injectable } from '@nestjs/common';
import { type FindOptionsWhere, IsNull, Not } from 'typeorm';
import { type Acting, type AuditEntry, AuditLog, BY_OPERATOR } from './audit/index.js';
import { Clock } from '../../platform/clock/index.js';
import { Database } from '../../platform/database/index.js';
import { EventBus } from '../../platform/events/index.js';
import { UserEntity } from './user.entity.js';

/** Topic of the event bus: an account was suspended; the key is the user's id. */
export const USER_SUSPENDED = 'user-suspended';

/**
 * Suspends and resumes accounts (`users.suspended_at`). Every request reads the column together with its user's other data, so a
 * suspension applies on every instance from its commit on. Open sockets learn of it over the bus, and are checked every 3 s.
 */
@Injectable()
export class Suspensions {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly bus: EventBus,
    private readonly audit: AuditLog,
  ) {}

  /** Returns whether the account was not suspended before. */
  async suspend(userId: string, by: Acting = BY_OPERATOR): Promise<boolean> {
    const entry: AuditEntry = { action: 'account.suspended', userId, ...by };
    const isNew = await this.change({ id: userId, suspendedAt: IsNull() }, this.clock.now(), entry);
    this.bus.publish({ topic: USER_SUSPENDED, key: userId });
    return isNew;
  }

  /** Restores access: sessions, tokens and data were kept. Returns whether the account was suspended. */
  resume(userId: string, by: Acting = BY_OPERATOR): Promise<boolean> {
    const entry: AuditEntry = { action: 'account.resumed', userId, ...by };
    return this.change({ id: userId, suspendedAt: Not(IsNull()) }, null, entry);
  }

  private change(
    where: FindOptionsWhere<UserEntity>,
    suspendedAt: Date | null,
    entry: AuditEntry,
  ): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const { affected } = await tx.manager.getRepository(UserEntity).update(where, { suspendedAt });
      const isNew = affected === 1;
      if (isNew) await this.audit.record(entry, tx);
      return isNew;
    });
  }
}
