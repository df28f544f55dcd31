import { isActive } from '../../billing/index.js';
import { statement } from '../../platform/database/index.js';

/** What the rows say of a caller. */
export interface Standing {
  readonly isUser: boolean;
  readonly isSuspended: boolean;
  readonly isSubscriber: boolean;
  readonly isOwner: boolean;
}

/** $1: the user, $2: the time, $3: the grace in days, $4: the workspace, which may be null. */
export const standing = statement(
  'workspaces.standing',
  `SELECT u.id IS NOT NULL AS "isUser", u.suspended_at IS NOT NULL AS "isSuspended",
          EXISTS (SELECT FROM subscriptions WHERE user_id = $1 AND ${isActive('$2', '$3')}) AS "isSubscriber",
          EXISTS (SELECT FROM workspaces WHERE id = $4 AND user_id = $1 AND deleted_at IS NULL) AS "isOwner"
   FROM (SELECT) AS one LEFT JOIN users u ON u.id = $1`,
);

/**
 * Whether the row `w` of `workspaces` is open to a caller, for a statement that looks by itself. From `$first` on
 * `Standings.accessParameters`: the user, the time, and the grace in days, or null where no subscription is needed. An owner
 * is a user: who goes leaves workspaces without one. Who is suspended has none open. No `=`, which would leave the planner the choice to walk all that the
 * user has.
 */
export const openTo = (first: number): string => {
  const [user, now, grace] = [`$${first}::uuid`, `$${first + 1}::timestamptz`, `$${first + 2}::int`];
  return `w.deleted_at IS NULL AND w.user_id IS NOT DISTINCT FROM ${user}
    AND NOT EXISTS (SELECT FROM users WHERE id = ${user} AND suspended_at IS NOT NULL) AND (${grace} IS NULL OR EXISTS (
    SELECT FROM subscriptions WHERE user_id = ${user} AND ${isActive(now, grace)}))`;
};
