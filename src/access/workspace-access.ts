import { Injectable } from '@nestjs/common';
import { CoalescingRunner, setNewest } from '../platform/async.js';
import { Clock } from '../platform/clock.js';
import { Configuration } from '../platform/config/index.js';
import { Database, ofWorkspace, type Statement, statement } from '../platform/database/index.js';
import { NotFound, PaymentRequired, ServiceUnavailable, Unauthorized } from '../platform/http/index.js';
import { requestScope } from '../platform/log.js';
import { AccountSuspended } from './authentication.guard.js';
import type { Caller } from './route-access.js';

/** Trials and manual grants expire without an event. */
export const hasRunOut = (time: string): string =>
  `(status = 'trial' AND trial_end <= ${time}
    OR status = 'active' AND provider_subscription_id IS NULL AND current_period_end <= ${time})`;

/** An expired subscription reads as expired before the nightly job has stored it. */
export const statusAt = (time: string): string =>
  `CASE WHEN ${hasRunOut(time)} THEN 'expired' ELSE status END`;

/**
 * Whether a row of `subscriptions` is active. Parameters: the time, and the grace period in days after falling past due. The
 * interval is in hours, because a day with a clock change does not have 24.
 */
export const isActive = (time: string, graceDays: string): string => `
  CASE ${statusAt(time)}
    WHEN 'trial' THEN true
    WHEN 'active' THEN true
    WHEN 'past_due' THEN past_due_since + make_interval(hours => 24 * ${graceDays}) > ${time}
    WHEN 'cancelled' THEN coalesce(current_period_end > ${time}, false)
    ELSE false
  END`;

const callerState = (isOwner: string): string =>
  `SELECT u.id IS NOT NULL AS "isUser", u.suspended_at IS NOT NULL AS "isSuspended",
          EXISTS (SELECT 1 FROM subscriptions WHERE user_id = $1 AND ${isActive('$2', '$3')}) AS "isSubscriber",
          ${isOwner} AS "isOwner"
   FROM (SELECT 1) AS one LEFT JOIN users u ON u.id = $1`;

export const accessStatements = {
  /**
   * $1: the user, $2: the time, $3: the grace period in days, $4: the workspace, or null. `isOwner` is null when only the
   * workspace's node can tell.
   */
  callerState: statement(
    'access.caller_state',
    callerState('EXISTS (SELECT 1 FROM {workspaces} WHERE id = $4 AND user_id = $1 AND deleted_at IS NULL)'),
    { onNodes: callerState('CASE WHEN $4::uuid IS NULL THEN false END') },
  ),

  /** Returns a row if the workspace $1 belongs to the user $2. */
  owned: ofWorkspace(
    'access.owned',
    'SELECT 1 AS one FROM {workspaces} WHERE id = $1 AND user_id = $2 AND deleted_at IS NULL',
  ),

  /**
   * The 1-based positions of the callers who may use workspaces. $1: the users, $2: the grace periods, or null, $3: the time. The
   * planner's estimate does not depend on the number of callers, so the plan is reused; with `unnest`, planning took five times
   * as long as the statement.
   */
  admitted: statement(
    'access.admitted',
    `SELECT place FROM generate_subscripts($1::uuid[], 1) AS place
   WHERE (SELECT suspended_at IS NULL FROM users WHERE id = ($1::uuid[])[place])
     AND (($2::int[])[place] IS NULL OR (
       SELECT true FROM subscriptions
       WHERE user_id = ($1::uuid[])[place] AND ${isActive('$3::timestamptz', '($2::int[])[place]')} LIMIT 1
     ))`,
  ),
};

/**
 * A condition for statements that check access by themselves: whether the row `w` of `workspaces` is open to a caller. The
 * parameters from `$first` on are `WorkspaceAccess.accessParameters`: the user, the time, and the grace period in days, or null
 * where no subscription is needed. It need not check that the user exists: deleting a user leaves workspaces without an owner. A
 * suspended user has no open workspaces. It avoids `=`, which would let the planner scan all workspaces of the user.
 */
export const accessCondition = (first: number): string =>
  accessConditionOf(`$${first}::uuid`, `$${first + 1}::timestamptz`, `$${first + 2}::int`);

/** `accessCondition` with SQL expressions, such as columns, for the three values. */
export const accessConditionOf = (user: string, now: string, grace: string): string =>
  `w.deleted_at IS NULL AND w.user_id IS NOT DISTINCT FROM ${user}
    AND NOT EXISTS (SELECT 1 FROM users WHERE id = ${user} AND suspended_at IS NOT NULL) AND (${grace} IS NULL OR EXISTS (
    SELECT 1 FROM subscriptions WHERE user_id = ${user} AND ${isActive(now, grace)}))`;

/**
 * `accessCondition` on the workspace's node, which has no accounts: `WorkspaceAccess.admittedParameters` has checked the account
 * on the coordinator. The text must use every parameter.
 */
const ownerCondition = (first: number): string =>
  `w.deleted_at IS NULL AND w.user_id IS NOT DISTINCT FROM $${first}::uuid
    AND ($${first + 1}::timestamptz IS NULL OR $${first + 2}::int IS NULL OR true)`;

/**
 * A statement of the workspace $1 that checks access by itself. Give it the values of `WorkspaceAccess.admittedParameters`.
 * @param textWith returns the SQL text for a given access condition
 */
export function ofOpenWorkspace(
  name: string,
  textWith: (condition: (first: number) => string) => string,
  isBinary = false,
): Statement {
  const onNodes = textWith(ownerCondition);
  return statement(name, textWith(accessCondition), { onNodes, isOfWorkspace: true, isBinary });
}

interface CallerState {
  readonly isUser: boolean;
  readonly isSuspended: boolean;
  readonly isSubscriber: boolean;
  /** Null when only the workspace's node can tell. */
  readonly isOwner: boolean | null;
}

/** How long an admitted caller is expected to be admitted again. */
const ALLOWED_FOR_MS = 60_000;
/** Beyond this, the oldest entries are evicted, which costs their callers one read. */
const MAX_ALLOWED = 10_000;

/** A caller that waits for its account check. */
interface Waiting {
  readonly caller: Caller;
  readonly resolve: (isAdmitted: boolean) => void;
}

const RETRY_SECONDS = 1;

/** Callers with the same key have the same access to every workspace. */
export const callerKey = ({ userId, needsSubscription }: Caller): string => `${userId} ${needsSubscription}`;

/** Requests with the same key have the same access to the same workspace, and may be batched. */
export const accessKey = ({ id, caller }: { readonly id: string; readonly caller: Caller }): string =>
  `${id} ${callerKey(caller)}`;

export interface AccessRequirements {
  readonly user: boolean;
  readonly subscription: boolean;
}

/** Checks in the database that users exist, are not suspended, have an active subscription and own the requested workspace. */
@Injectable()
export class WorkspaceAccess {
  /** The callers that `check` has recently admitted, and until when (by `Clock.elapsed`). */
  private readonly allowed = new Map<string, number>();
  private readonly waiting: Waiting[] = [];
  /** Runs one statement at a time for all waiting callers, because the coordinator checks the accounts for every node. */
  private readonly checks = new CoalescingRunner(() => requestScope.exit(() => this.checkWaiting()));

  constructor(
    private readonly database: Database,
    private readonly configuration: Configuration,
    private readonly clock: Clock,
  ) {}

  /** @returns whether the workspace is the user's @throws Unauthorized, AccountSuspended, PaymentRequired */
  async check(userId: string, demands: AccessRequirements, workspaceId: string | null): Promise<boolean> {
    const values = [userId, this.clock.now(), this.configuration.billingGraceDays, workspaceId];
    const [found] = await this.database.run<CallerState>(accessStatements.callerState, values);
    if (demands.user && !found?.isUser) throw new Unauthorized();
    if (found?.isSuspended) throw new AccountSuspended();
    if (demands.subscription && !found?.isSubscriber) throw new PaymentRequired();
    if (!found || workspaceId === null) return false;
    return (
      found.isOwner ?? (await this.database.run(accessStatements.owned, [workspaceId, userId])).length > 0
    );
  }

  /**
   * Whether `check` has admitted this caller within the last minute. Danger: that is not a permission. It only tells for which
   * callers the check may be left to the statement that does the work, and which callers would probably be refused before that.
   */
  wasAllowedLately(caller: Caller, workspaceId: string): boolean {
    return (this.allowed.get(accessKey({ id: workspaceId, caller })) ?? 0) > this.clock.elapsed();
  }

  /** Remembers for a minute that `check` has admitted the caller. */
  rememberAllowed(caller: Caller, workspaceId: string): void {
    const until = this.clock.elapsed() + ALLOWED_FOR_MS;
    setNewest(this.allowed, accessKey({ id: workspaceId, caller }), until, MAX_ALLOWED);
  }

  /** Values for `accessCondition`; the user is null if there is no caller to check. */
  accessParameters(caller: Caller | undefined): [string | null, Date, number | null] {
    const graceDays = caller?.needsSubscription ? this.configuration.billingGraceDays : null;
    return [caller?.userId ?? null, this.clock.now(), graceDays];
  }

  /**
   * `accessParameters` for `ofOpenWorkspace`. On a distributed database, first checks the account on the coordinator, in one
   * statement with concurrent callers: nodes have no copy of the accounts that could be stale.
   * @throws WorkspaceClosed
   */
  async admittedParameters(
    caller: Caller | undefined,
  ): Promise<ReturnType<WorkspaceAccess['accessParameters']>> {
    if (this.database.isDistributed && caller && !(await this.isAdmitted(caller)))
      throw new WorkspaceClosed();
    return this.accessParameters(caller);
  }

  private isAdmitted(caller: Caller): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ caller, resolve });
      this.checks.run().catch(reject);
    });
  }

  private async checkWaiting(): Promise<void> {
    const waiting = this.waiting.splice(0);
    const answers = await this.areAdmitted(waiting.map(({ caller }) => caller));
    waiting.forEach(({ resolve }, index) => resolve(answers[index] ?? false));
  }

  /**
   * Whether the accounts of the callers may use workspaces; for statements on nodes, which check only the owner. False if
   * undefined.
   */
  async areAdmitted(callers: readonly (Caller | undefined)[]): Promise<boolean[]> {
    const parameters = callers.map((caller) => this.accessParameters(caller));
    const users = parameters.map(([userId]) => userId);
    const grace = parameters.map(([, , days]) => days);
    const values = [users, grace, this.clock.now()];
    const rows = await this.database.run<{ place: number }>(accessStatements.admitted, values);
    const places = new Set(rows.map(({ place }) => place));
    return callers.map((_, index) => places.has(index + 1));
  }

  /** @throws Unauthorized, AccountSuspended, PaymentRequired, NotFound when the workspace is not open to the caller */
  async confirm({ userId, needsSubscription }: Caller, workspaceId: string): Promise<void> {
    const isOwner = await this.check(userId, { user: true, subscription: needsSubscription }, workspaceId);
    if (!isOwner) throw new NotFound('workspace not found');
  }
}

/**
 * Thrown when a statement finds the workspace closed to the caller. `WorkspaceAccessFilter` then determines the reason and
 * answers with it; the caller sees this error only if the workspace is open again by then.
 */
export class WorkspaceClosed extends ServiceUnavailable {
  constructor() {
    super('the workspace was closed for a moment', RETRY_SECONDS);
  }
}
