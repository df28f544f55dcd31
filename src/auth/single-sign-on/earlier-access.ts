import { statement, type Tx } from '../../platform/database/index.js';
import { factorStatements, pendingSignInStatements } from '../factors/index.js';
import { revokeLinks } from '../mail-links.js';

const statements = {
  removePassword: statement(
    'earlier_access.remove_password',
    `DELETE FROM auth_accounts WHERE user_id = $1 AND provider_id = 'credential'`,
  ),

  /** The value of a one-time token is the token of the session that it opens. */
  endSessions: statement(
    'earlier_access.end_sessions',
    `WITH ended AS (DELETE FROM auth_sessions WHERE user_id = $1 RETURNING token)
     DELETE FROM auth_verifications
     WHERE identifier LIKE 'one-time-token:%' AND value IN (SELECT token FROM ended)`,
  ),

  revokeTokens: statement(
    'earlier_access.revoke_tokens',
    'UPDATE access_tokens SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL RETURNING id',
  ),
};

/**
 * Ends everything with which somebody could use an account so far: its password, second factor and passkeys, its sessions, those
 * that wait for a code, its access tokens, and the links in mails: one of them may lead to another address. The caller holds the user's lock, and announces the returned tokens as revoked
 * after the commit.
 */
export async function endEarlierAccess(tx: Tx, userId: string, now: Date): Promise<string[]> {
  await tx.run(statements.removePassword, [userId]);
  await tx.run(factorStatements.remove, [userId, now]);
  await tx.run(factorStatements.removePasskeys, [userId]);
  await tx.run(statements.endSessions, [userId]);
  await tx.run(pendingSignInStatements.end, [userId]);
  await revokeLinks(tx, userId, now);
  return (await tx.run<{ id: string }>(statements.revokeTokens, [userId, now])).map(({ id }) => id);
}
