import { ofWorkspace } from '../../../platform/database/index.js';

/** The wrapped key as clients send it: base64 from PostgreSQL is broken into lines of 76 characters. */
export const WRAPPED_KEY = `translate(encode(wrapped_key, 'base64'), E'\\n', '') AS "wrappedKey"`;

export const keySlotStatements = {
  /** The salts of the workspace in each row; one row without an id when there are no slots, none without the workspace. */
  list: ofWorkspace(
    'key_slots.list',
    `SELECT w.encryption_salt AS "encryptionSalt", w.verification_salt AS "verificationSalt", slots.*
     FROM {workspaces} w
     LEFT JOIN LATERAL (SELECT id, kind, label, kdf, ${WRAPPED_KEY},
  created_at AS "createdAt", updated_at AS "updatedAt" FROM {key_slots} WHERE workspace_id = w.id) slots ON true
     WHERE w.id = $1 AND w.deleted_at IS NULL
     ORDER BY slots."createdAt", slots.id`,
  ),
};
