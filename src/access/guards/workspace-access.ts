import { Injectable } from '@nestjs/common';
import { AccountSuspended } from '../../auth/index.js';
import { isActive, Subscriptions } from '../../billing/index.js';
import { Clock } from '../../platform/clock/index.js';
import { Database, statement } from '../../platform/database/index.js';
import { NotFound, PaymentRequired, ServiceUnavailable, Unauthorized } from '../../platform/http/index.js';
import type { Caller } from '../index.js';

/** What the rows say of a caller. */
interface CallerState {
  readonly isUser: boolean;
  readonly isSuspended: boolean;
  readonly isSubscriber: boolean;
  readonly isOwner: boolean;
}

/** $1: the user, $2: the time, $3: the grace in days, $4: the workspace, which may be null. */
const callerState = statement(
  'access.caller_state',
  `SELECT u.id IS NOT NULL AS "isUser", u.suspended_at IS NOT NULL AS "isSuspended",
          EXISTS (SELECT FROM subscriptions WHERE user_id = $1 AND ${isActive('$2', '$3')}) AS "isSubscriber",
          EXISTS (SELECT FROM workspaces WHERE id = $4 AND user_id = $1 AND deleted_at IS NULL) AS "isOwner"
   FROM (SELECT) AS one LEFT JOIN users u ON u.id = $1`,
);

/**
 * Whether the row `w` of `workspaces` is open to a caller, for a statement that looks by itself. From `$first` on
 * `WorkspaceAccess.accessParameters`: the user, the time, and the grace in days, or null where no subscription is needed. An owner
 * is a user: who goes leaves workspaces without one. Who is suspended has none open. No `=`, which would leave the planner the choice to walk all that the
 * user has.
 */
export const accessCondition = (first: number): string => {
  const [user, now, grace] = [`$${first}::uuid`, `$${first + 1}::timestamptz`, `$${first + 2}::int`];
  return `w.deleted_at IS NULL AND w.user_id IS NOT DISTINCT FROM ${user}
    AND NOT EXISTS (SELECT FROM users WHERE id = ${user} AND suspended_at IS NOT NULL) AND (${grace} IS NULL OR EXISTS (
    SELECT FROM subscriptions WHERE user_id = ${user} AND ${isActive(now, grace)}))`;
};

/** For so long a caller who has been let in is expected to be let in again. */
const ALLOWED_FOR_MS = 60_000;
/** Beyond, the oldest are forgotten, which costs them one read. */
const MAX_ALLOWED = 10_000;

const RETRY_SECONDS = 1;

/** Callers with the same key have the same access to every workspace. */
export const callerKey = ({ userId, needsSubscription }: Caller): string => `${userId} ${needsSubscription}`;

/** Requests with the same key have the same access to the same workspace, and may be answered together. */
export const accessKey = ({ id, caller }: { readonly id: string; readonly caller: Caller }): string =>
  `${id} ${callerKey(caller)}`;

export interface AccessRequirements {
  readonly user: boolean;
  readonly subscription: boolean;
}

/** Whether users are there, are not suspended, have paid, and own what they ask for, as the rows have it at the moment. */
@Injectable()
export class WorkspaceAccess {
  /** Whom `check` has let in lately, until when by `Clock.elapsed`. */
  private readonly allowed = new Map<string, number>();

  constructor(
    private readonly database: Database,
    private readonly subscriptions: Subscriptions,
    private readonly clock: Clock,
  ) {}

  /** @returns whether the workspace is the user's @throws Unauthorized, AccountSuspended, PaymentRequired */
  async check(userId: string, demands: AccessRequirements, workspaceId: string | null): Promise<boolean> {
    const values = [userId, this.clock.now(), this.subscriptions.graceDays, workspaceId];
    const [found] = await this.database.run<CallerState>(callerState, values);
    if (demands.user && !found?.isUser) throw new Unauthorized();
    if (found?.isSuspended) throw new AccountSuspended();
    if (demands.subscription && !found?.isSubscriber) throw new PaymentRequired();
    return found?.isOwner ?? false;
  }

  /**
   * Whether `check` has let this caller in within the last minute. That is no permission: it only tells who may leave
   * the check to the statement that does the work, and who would probably be refused before that.
   */
  wasAllowedLately(caller: Caller, workspaceId: string): boolean {
    return (this.allowed.get(accessKey({ id: workspaceId, caller })) ?? 0) > this.clock.elapsed();
  }

  /** Remembers for a minute that `check` has let the caller in. */
  rememberAllowed(caller: Caller, workspaceId: string): void {
    const key = accessKey({ id: workspaceId, caller });
    this.allowed.delete(key); // a map keeps the place of a key that it has
    this.allowed.set(key, this.clock.elapsed() + ALLOWED_FOR_MS);
    const [oldest] = this.allowed.keys();
    if (this.allowed.size > MAX_ALLOWED && oldest !== undefined) this.allowed.delete(oldest);
  }

  /** Values for `accessCondition`; the user is null when nobody is to be asked about. */
  accessParameters(caller: Caller | undefined): [string | null, Date, number | null] {
    const graceDays = caller?.needsSubscription ? this.subscriptions.graceDays : null;
    return [caller?.userId ?? null, this.clock.now(), graceDays];
  }

  /** @throws Unauthorized, AccountSuspended, PaymentRequired, NotFound when the workspace is not open to the caller */
  async confirm({ userId, needsSubscription }: Caller, workspaceId: string): Promise<void> {
    const isOwner = await this.check(userId, { user: true, subscription: needsSubscription }, workspaceId);
    if (!isOwner) throw new NotFound('workspace not found');
  }
}

/**
 * A statement has found the workspace closed to the caller. Why, `WorkspaceAccessFilter` finds out and answers; this is what the
 * caller sees when it is open again by then.
 */
export class WorkspaceClosed extends ServiceUnavailable {
  constructor() {
    super('the workspace was closed for a moment', RETRY_SECONDS);
  }
}
