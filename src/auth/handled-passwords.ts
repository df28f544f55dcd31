import { AsyncLocalStorage } from 'node:async_hooks';
import { APIError } from 'better-auth/api';
import { hashPassword, verifyPassword } from 'better-auth/crypto';
import { type Database, statement } from '../platform/database/index.js';

const endUnlessProven = statement(
  'handled_passwords.end_unless_proven',
  `WITH proven AS (
     SELECT s.id FROM auth_sessions s
     JOIN auth_accounts a ON a.user_id = s.user_id AND a.provider_id = 'credential' AND a.password = ANY ($2)
     WHERE s.id = $1
   ), ended AS (
     DELETE FROM auth_sessions WHERE id = $1 AND NOT EXISTS (SELECT FROM proven)
   )
   SELECT id FROM proven`,
);

/**
 * The hashes that a request of the identity handler has found right, or made. One for the process: each such storage that
 * was ever used costs every promise of Node.js 20 something, for good.
 */
const requests = new AsyncLocalStorage<Set<string>>();

const WRONG = { code: 'INVALID_EMAIL_OR_PASSWORD', message: 'Invalid email or password' };

/**
 * A password that is changed or reset ends the sessions that are there. One that another request is about to begin with the
 * old password would come after that, so it is ended here: its password must still be the user's when the session is there.
 */
export class HandledPasswords {
  constructor(private readonly database: Database) {}

  /** Runs a request of the handler, for which the three below are called. */
  watch<T>(work: () => Promise<T>): Promise<T> {
    return requests.run(new Set(), work);
  }

  readonly hash = async (password: string): Promise<string> => {
    const hash = await hashPassword(password);
    requests.getStore()?.add(hash);
    return hash;
  };

  readonly verify = async (claim: { hash: string; password: string }): Promise<boolean> => {
    const isRight = await verifyPassword(claim);
    if (isRight) requests.getStore()?.add(claim.hash);
    return isRight;
  };

  /**
   * To be called when the session is committed.
   * @throws APIError, as for a wrong password, after ending it; also when somebody else has ended it already
   */
  readonly check = async ({ id }: { id: string }): Promise<void> => {
    const hashes = requests.getStore();
    if (!hashes?.size) return; // begun by something else than a password
    const proven = await this.database.run(endUnlessProven, [id, [...hashes]]);
    if (proven.length === 0) throw new APIError('UNAUTHORIZED', WRONG);
  };
}
