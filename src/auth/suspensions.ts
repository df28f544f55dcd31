import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock/index.js';
import { Database, statement } from '../platform/database/index.js';
import { EventBus } from '../platform/events/index.js';
import { Forbidden } from '../platform/http/index.js';

/** The operator has suspended the account: every request is refused until it is resumed. No data is lost. */
export class AccountSuspended extends Forbidden {
  constructor() {
    super('the account is suspended');
  }
}

/** Topic of the event bus: an account was suspended; the key is the user's id. */
export const USER_SUSPENDED = 'user-suspended';

const statements = {
  suspend: statement(
    'suspensions.suspend',
    'UPDATE users SET suspended_at = $2 WHERE id = $1 AND suspended_at IS NULL RETURNING id',
  ),

  resume: statement(
    'suspensions.resume',
    'UPDATE users SET suspended_at = NULL WHERE id = $1 AND suspended_at IS NOT NULL RETURNING id',
  ),
};

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
  ) {}

  /** Returns whether the account was not suspended before. */
  async suspend(userId: string): Promise<boolean> {
    const isNew = (await this.database.run(statements.suspend, [userId, this.clock.now()])).length > 0;
    this.bus.publish({ topic: USER_SUSPENDED, key: userId });
    return isNew;
  }

  /** Restores access: sessions, tokens and data were kept. Returns whether the account was suspended. */
  async resume(userId: string): Promise<boolean> {
    return (await this.database.run(statements.resume, [userId])).length > 0;
  }
}
