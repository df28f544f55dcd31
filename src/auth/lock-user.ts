import { statement, type Tx } from '../platform/database/index.js';

const lock = statement('users.lock', 'SELECT id FROM users WHERE id = $1 FOR UPDATE');

/** Waits for whoever is making something of the user's, and holds off everybody who would. Says whether there is such a user. */
export async function lockUser(tx: Tx, userId: string): Promise<boolean> {
  return (await tx.run(lock, [userId])).length > 0;
}
