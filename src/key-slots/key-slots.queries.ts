import { ofWorkspace, statement } from '../platform/database/index.js';

/** The wrapped key as clients send it: base64 from PostgreSQL is broken into lines of 76 characters. */
export const WRAPPED_KEY = `translate(encode(wrapped_key, 'base64'), E'\\n', '') AS "wrappedKey"`;

const COLUMNS = `id, kind, label, kdf, ${WRAPPED_KEY},
  created_at AS "createdAt", updated_at AS "updatedAt"`;

export const keySlotStatements = {
  /** The salts of the workspace in each row; one row without an id when there are no slots, none without the workspace. */
  list: ofWorkspace(
    'key_slots.list',
    `SELECT w.encryption_salt AS "encryptionSalt", w.verification_salt AS "verificationSalt", slots.*
     FROM workspaces w
     LEFT JOIN LATERAL (SELECT ${COLUMNS} FROM key_slots WHERE workspace_id = w.id) slots ON true
     WHERE w.id = $1 AND w.deleted_at IS NULL
     ORDER BY slots."createdAt", slots.id`,
  ),

  /**
   * Locks the workspace's row, so that writes of slots follow one another and none follows the deletion of the workspace. A
   * deleted workspace has no row here.
   */
  lockWorkspace: statement(
    'key_slots.lock_workspace',
    `SELECT verification_hash AS "verificationHash", user_id AS "userId", name FROM workspaces WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE`,
  ),

  /** Run this statement and all that follow under the lock. */
  ofWorkspace: statement(
    'key_slots.of_workspace',
    `SELECT id, kind, kdf, ${WRAPPED_KEY}, updated_at AS "updatedAt" FROM key_slots WHERE workspace_id = $1`,
  ),

  /**
   * `updated_at` rises with every replacement, whatever the clock does. It is added to as a time without a zone: the sum is then
   * immutable, as engines that distribute tables require here.
   */
  put: statement(
    'key_slots.put',
    `INSERT INTO key_slots AS s (workspace_id, id, kind, label, kdf, wrapped_key, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
     ON CONFLICT (workspace_id, id) DO UPDATE
       SET kind = excluded.kind, label = excluded.label, kdf = excluded.kdf, wrapped_key = excluded.wrapped_key,
           updated_at = greatest(excluded.updated_at, (s.updated_at AT TIME ZONE 'UTC' + interval '1 millisecond') AT TIME ZONE 'UTC')
     RETURNING ${COLUMNS}`,
  ),

  delete: statement('key_slots.delete', 'DELETE FROM key_slots WHERE workspace_id = $1 AND id = $2'),

  purge: statement('key_slots.purge', 'DELETE FROM key_slots WHERE workspace_id = $1 RETURNING id'),
};
