import type { Tx } from '../../platform/database/index.js';
import { Unauthorized } from '../../platform/http/index.js';
import { UserEntity } from './user.entity.js';

/**
 * Locks the user's row: waits for concurrent transactions that create something for the user, and blocks new ones. @returns
 * whether the user exists
 */
export async function lockUser(tx: Tx, userId: string): Promise<boolean> {
  const users = tx.manager.getRepository(UserEntity);
  const locked = {
    select: { id: true },
    where: { id: userId },
    lock: { mode: 'pessimistic_write' },
  } as const;
  return (await users.findOne(locked)) !== null;
}

/**
 * Like `lockUser`, for a request of the user: counts made under the lock stay true until the commit. @throws Unauthorized when
 * the account has just been deleted
 */
export async function lockOwnUser(tx: Tx, userId: string): Promise<void> {
  if (!(await lockUser(tx, userId))) throw new Unauthorized();
}
