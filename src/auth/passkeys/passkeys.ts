import { Injectable } from '@nestjs/common';
import { isUUID } from 'class-validator';
import { type AuditAction, AuditLog } from '../../audit/index.js';
import { Database, statement, type Tx } from '../../platform/database/index.js';
import { asName, BadRequest, NAME_RULE, NotFound } from '../../platform/http/index.js';
import type { Actor } from '../factors/index.js';
import { lockOwnUser } from '../lock-user.js';

/** Passkeys per user. */
export const MAX_PASSKEYS = 20;

const statements = {
  list: statement(
    'passkeys.list',
    `SELECT id, coalesce(name, 'Passkey') AS name, created_at AS "createdAt", backed_up AS "isSynced"
     FROM auth_passkeys WHERE user_id = $1 ORDER BY created_at, id LIMIT $2`,
  ),

  count: statement(
    'passkeys.count',
    'SELECT count(*)::integer AS count FROM auth_passkeys WHERE user_id = $1',
  ),

  rename: statement(
    'passkeys.rename',
    'UPDATE auth_passkeys SET name = $3 WHERE user_id = $1 AND id = $2 RETURNING id',
  ),

  remove: statement(
    'passkeys.remove',
    'DELETE FROM auth_passkeys WHERE user_id = $1 AND id = $2 RETURNING id',
  ),

  /** Whether the user can sign in without this passkey: by a password, a provider or another passkey. */
  hasAnother: statement(
    'passkeys.has_another_way',
    `SELECT 1 WHERE EXISTS (SELECT 1 FROM auth_accounts WHERE user_id = $1)
                OR EXISTS (SELECT 1 FROM auth_passkeys WHERE user_id = $1 AND id <> $2)`,
  ),

  isThere: statement(
    'passkeys.is_there',
    'SELECT 1 FROM auth_passkeys WHERE user_id = $1 AND credential_id = $2',
  ),

  endSession: statement('passkeys.end_session', 'DELETE FROM auth_sessions WHERE id = $1'),

  isSessionThere: statement(
    'passkeys.is_session_there',
    'SELECT 1 FROM auth_sessions WHERE user_id = $1 AND id = $2',
  ),

  forget: statement('passkeys.forget', 'DELETE FROM auth_passkeys WHERE user_id = $1 AND credential_id = $2'),
};

export interface ListedPasskey {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
  /** Whether it is stored by a service that copies it to other devices. */
  readonly isSynced: boolean;
}

/** The passkeys of a user. The identity library verifies them; this class lists, counts and removes them. */
@Injectable()
export class Passkeys {
  constructor(
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  /** Oldest first. */
  list(userId: string): Promise<ListedPasskey[]> {
    return this.database.run<ListedPasskey>(statements.list, [userId, MAX_PASSKEYS]);
  }

  /** @throws BadRequest for an invalid name, NotFound unless the id is a passkey of this user */
  async rename(userId: string, id: string, name: string): Promise<void> {
    const stored = asName(name);
    if (stored === undefined) throw new BadRequest(`name ${NAME_RULE}`);
    const renamed = isUUID(id) ? await this.database.run(statements.rename, [userId, id, stored]) : [];
    if (renamed.length === 0) throw new NotFound('passkey not found');
  }

  /** Returns false, and keeps the passkey, when it is the last way to sign in. @throws NotFound */
  async remove(actor: Actor, id: string): Promise<boolean> {
    const values = [actor.userId, id];
    return this.database.transaction(async (tx) => {
      await lockOwnUser(tx, actor.userId);
      const hasAnother = isUUID(id) && (await tx.run(statements.hasAnother, values)).length > 0;
      if (isUUID(id) && !hasAnother) return false;
      if (!isUUID(id) || (await tx.run(statements.remove, values)).length === 0)
        throw new NotFound('passkey not found');
      await this.record(actor, 'factor.removed', tx);
      return true;
    });
  }

  /** Whether the user may have one more. */
  async hasRoom(userId: string): Promise<boolean> {
    const [row] = await this.database.run<{ count: number }>(statements.count, [userId]);
    return (row?.count ?? 0) < MAX_PASSKEYS;
  }

  /** Call this before the library stores a new passkey: there is none that was not recorded. */
  async recordNew(actor: Actor): Promise<void> {
    await this.record(actor, 'factor.added');
  }

  /**
   * Call this after a new passkey is committed. A reset may have ended the session that added it; the passkey must not outlive
   * that. Returns whether it was kept.
   */
  async keepNew(userId: string, sessionId: string, credentialId: string): Promise<boolean> {
    if ((await this.database.run(statements.isSessionThere, [userId, sessionId])).length > 0) return true;
    await this.database.run(statements.forget, [userId, credentialId]);
    return false;
  }

  /** Call this after a session is committed. Ends it, and returns false, when its passkey was removed meanwhile. */
  async check({ id, userId }: { id: string; userId: string }, credentialId: string): Promise<boolean> {
    if ((await this.database.run(statements.isThere, [userId, credentialId])).length > 0) return true;
    await this.database.run(statements.endSession, [id]);
    return false;
  }

  private record({ userId, ip, userAgent }: Actor, action: AuditAction, tx?: Tx): Promise<void> {
    const details = { kind: 'passkey' };
    return this.audit.record({ action, userId, actor: 'user', ip, userAgent, details }, tx);
  }
}
