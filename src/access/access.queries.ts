import { isActive } from './active-subscription.js';
import { ofWorkspace, type Statement, statement } from '../platform/database/index.js';

export const accessStatements = {
  /**
   * $1: the user, $2: the time, $3: the grace period in days, $4: the workspace, or null. `isOwner` is null where the node of the
   * workspace has to be asked.
   */
  callerState: statement(
    'access.caller_state',
    `SELECT u.id IS NOT NULL AS "isUser", u.suspended_at IS NOT NULL AS "isSuspended",
          EXISTS (SELECT 1 FROM subscriptions WHERE user_id = $1 AND ${isActive('$2', '$3')}) AS "isSubscriber",
          EXISTS (SELECT 1 FROM {workspaces} WHERE id = $4 AND user_id = $1 AND deleted_at IS NULL) AS "isOwner"
   FROM (SELECT 1) AS one LEFT JOIN users u ON u.id = $1`,
    {
      onNodes: `SELECT u.id IS NOT NULL AS "isUser", u.suspended_at IS NOT NULL AS "isSuspended",
          EXISTS (SELECT 1 FROM subscriptions WHERE user_id = $1 AND ${isActive('$2', '$3')}) AS "isSubscriber",
          CASE WHEN $4::uuid IS NULL THEN false END AS "isOwner"
   FROM (SELECT 1) AS one LEFT JOIN users u ON u.id = $1`,
    },
  ),

  /** A row when the workspace $1 belongs to user $2. */
  owned: ofWorkspace(
    'access.owned',
    'SELECT 1 AS one FROM {workspaces} WHERE id = $1 AND user_id = $2 AND deleted_at IS NULL',
  ),

  /**
   * The 1-based places of the callers who may use workspaces. $1: the users, $2: the grace periods, or null, $3: the time. The planner
   * expects the same of it for any number of callers, so it is planned once: with `unnest` that took five times the statement itself.
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
 * where no subscription is needed. An owner exists as a user, because deleting a user leaves workspaces without an owner. A
 * suspended user has no open workspaces. It avoids `=`, which would let the planner scan all workspaces of the user.
 */
export const accessCondition = (first: number): string =>
  accessConditionOf(`$${first}::uuid`, `$${first + 1}::timestamptz`, `$${first + 2}::int`);

/** The same, where the three values are expressions of any kind, such as columns. */
export const accessConditionOf = (user: string, now: string, grace: string): string =>
  `w.deleted_at IS NULL AND w.user_id IS NOT DISTINCT FROM ${user}
    AND NOT EXISTS (SELECT 1 FROM users WHERE id = ${user} AND suspended_at IS NOT NULL) AND (${grace} IS NULL OR EXISTS (
    SELECT 1 FROM subscriptions WHERE user_id = ${user} AND ${isActive(now, grace)}))`;

/**
 * The same on the node of the workspace, which has no accounts: `WorkspaceAccess.admittedParameters` has asked the coordinator for
 * the rest. All parameters must stand in the text.
 */
const ownerCondition = (first: number): string =>
  `w.deleted_at IS NULL AND w.user_id IS NOT DISTINCT FROM $${first}::uuid
    AND ($${first + 1}::timestamptz IS NULL OR $${first + 2}::int IS NULL OR true)`;

/**
 * A statement of the workspace $1 that checks access by itself. Give it the values of `WorkspaceAccess.admittedParameters`.
 * @param textWith makes the text of a form of `accessCondition`
 */
export function ofOpenWorkspace(
  name: string,
  textWith: (condition: (first: number) => string) => string,
  isBinary = false,
): Statement {
  const onNodes = textWith(ownerCondition);
  return statement(name, textWith(accessCondition), { onNodes, isOfWorkspace: true, isBinary });
}
