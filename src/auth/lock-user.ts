import { statement, type Tx } from '../platform/database/index.js';
import { Unauthorized } from '../platform/http/index.js';

const lock = statement('users.lock', 'SELECT id FROM users WHERE id = $1 FOR UPDATE');

/** Waits for whoever is making something of the user's, and holds off everybody who would. Says whether there is such a user. */
export async function lockUser(tx: Tx, userId: string): Promise<boolean> {
  return (await tx.run(lock, [userId])).length > 0;
}

/** The same for a request of the user: what is counted under the lock stays true until the commit. @throws Unauthorized when the account has just gone */
export async function lockOwnUser(tx: Tx, userId: string): Promise<void> {
  if (!(await lockUser(tx, userId))) throw new Unauthorized();
}
