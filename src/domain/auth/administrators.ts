import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type FindOptionsWhere, IsNull, Not, Repository } from 'typeorm';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/index.js';
import { EventBus } from '../../platform/events/index.js';
import { type Acting, type AuditEntry, AuditLog, BY_OPERATOR } from './audit/index.js';
import { AuthSession, UserEntity } from './auth.entities.js';
import type { BrowserSession } from './browser-sessions.js';
import { SecondFactor } from './factors/index.js';
import { Passkey } from './passkeys/index.js';

/** The times in `users` that an operator or an administrator sets; null without one. */
type Mark = 'promotedAt' | 'suspendedAt';

/** Sets and removes marks of users, each change with its entry in the audit log. */
@Injectable()
export class UserMarks {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly audit: AuditLog,
  ) {}

  /** Returns whether the user did not have the mark before. */
  set(mark: Mark, entry: AuditEntry): Promise<boolean> {
    return this.change({ id: entry.userId, [mark]: IsNull() }, { [mark]: this.clock.now() }, entry);
  }

  /** Returns whether the user had the mark. */
  remove(mark: Mark, entry: AuditEntry): Promise<boolean> {
    return this.change({ id: entry.userId, [mark]: Not(IsNull()) }, { [mark]: null }, entry);
  }

  private change(
    where: FindOptionsWhere<UserEntity>,
    marks: { readonly [Key in Mark]?: Date | null },
    entry: AuditEntry,
  ): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const { affected } = await tx.manager.getRepository(UserEntity).update(where, marks);
      const isNew = affected === 1;
      if (isNew) await this.audit.record(entry, tx);
      return isNew;
    });
  }
}

/**
 * Users whom the operator has promoted (`users.promoted_at`). The admin page checks this on each request, so a demotion or a
 * suspension takes effect with the next request on every instance.
 */
@Injectable()
export class Administrators {
  constructor(
    @InjectRepository(UserEntity) private readonly users: Repository<UserEntity>,
    @InjectRepository(AuthSession) private readonly sessions: Repository<AuthSession>,
    @InjectRepository(SecondFactor) private readonly factors: Repository<SecondFactor>,
    @InjectRepository(Passkey) private readonly passkeys: Repository<Passkey>,
    private readonly marks: UserMarks,
  ) {}

  /** Returns whether the user was not an administrator before. */
  promote(userId: string, by: Acting): Promise<boolean> {
    return this.marks.set('promotedAt', { action: 'account.promoted', userId, ...by });
  }

  /** Returns whether the user was an administrator. */
  demote(userId: string, by: Acting): Promise<boolean> {
    return this.marks.remove('promotedAt', { action: 'account.demoted', userId, ...by });
  }

  /**
   * Whether a session may open the admin page: its user is promoted, not suspended, and gave a second factor in this session.
   * That the account has one is not enough: the session may predate it, and beside a passkey the password alone still signs in.
   */
  async isAdmitted({ userId, id }: Pick<BrowserSession, 'userId' | 'id'>): Promise<boolean> {
    const hasGivenFactor = await this.sessions.existsBy({ id, userId, factorAt: Not(IsNull()) });
    return hasGivenFactor && (await this.isPromoted(userId)) && (await this.hasSecondFactor(userId));
  }

  /** Whether the user is promoted and not suspended, with or without a second factor. */
  isPromoted(userId: string): Promise<boolean> {
    return this.users.existsBy({ id: userId, promotedAt: Not(IsNull()), suspendedAt: IsNull() });
  }

  /** Whether the user has a second factor: a confirmed TOTP secret or a passkey. */
  async hasSecondFactor(userId: string): Promise<boolean> {
    const hasFactor = await this.factors.existsBy({ userId, verified: true });
    return hasFactor || (await this.passkeys.existsBy({ userId }));
  }
}

/** Topic of the event bus: an account was suspended; the key is the user's id. */
export const USER_SUSPENDED = 'user-suspended';

/**
 * Suspends and resumes accounts (`users.suspended_at`). Every request reads the column with its user's other data, so a
 * suspension applies on every instance once committed. Open sockets are notified over the event bus, and rechecked every 3 s.
 */
@Injectable()
export class Suspensions {
  constructor(
    private readonly marks: UserMarks,
    private readonly bus: EventBus,
  ) {}

  /** Returns whether the account was not suspended before. */
  async suspend(userId: string, by: Acting = BY_OPERATOR): Promise<boolean> {
    const isNew = await this.marks.set('suspendedAt', { action: 'account.suspended', userId, ...by });
    this.bus.publish({ topic: USER_SUSPENDED, key: userId });
    return isNew;
  }

  /** Restores access: sessions, tokens and data were kept. Returns whether the account was suspended. */
  resume(userId: string, by: Acting = BY_OPERATOR): Promise<boolean> {
    return this.marks.remove('suspendedAt', { action: 'account.resumed', userId, ...by });
  }
}
