import { statement, type Tx } from '../platform/database/index.js';
import { Unauthorized } from '../platform/http/index.js';

const lock = statement('users.lock', 'SELECT id FROM users WHERE id = $1 FOR UPDATE');

/**
 * Locks the user's row: waits for concurrent transactions that create something for the user, and blocks new ones. @returns
 * whether the user exists
 */
export async function lockUser(tx: Tx, userId: string): Promise<boolean> {
  return (await tx.run(lock, [userId])).length > 0;
}

/**
 * Like `lockUser`, for a request of the user: counts made under the lock stay true until the commit. @throws Unauthorized when
 * the account has just been deleted
 */
export async function lockOwnUser(tx: Tx, userId: string): Promise<void> {
  if (!(await lockUser(tx, userId))) throw new Unauthorized();
}
