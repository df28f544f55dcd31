import { statement } from '../platform/database/index.js';

const COLUMNS = `id, user_id AS "userId", name, encryption_salt AS "encryptionSalt",
            created_at AS "createdAt", updated_at AS "updatedAt"`;

export const workspacesOfUserStatements = {
  /** Ids are UUIDv7, so their order is that of creation. */
  page: statement(
    'workspaces_of_user.page',
    `SELECT ${COLUMNS} FROM workspaces WHERE user_id = $1 AND deleted_at IS NULL AND id > $2 ORDER BY id LIMIT $3`,
  ),

  one: statement(
    'workspaces_of_user.one',
    `SELECT ${COLUMNS} FROM workspaces WHERE id = $2 AND user_id = $1 AND deleted_at IS NULL`,
  ),

  among: statement(
    'workspaces_of_user.among',
    `SELECT ${COLUMNS} FROM workspaces WHERE id = ANY ($2::uuid[]) AND user_id = $1 AND deleted_at IS NULL`,
  ),

  /** Under the lock of the user, unless there are $5 already: then nothing. */
  create: statement(
    'workspaces_of_user.create',
    `INSERT INTO workspaces (id, user_id, name, created_at, updated_at)
     SELECT $1, $2, $3, $4, $4
     WHERE NOT EXISTS (SELECT FROM workspaces WHERE user_id = $2 AND deleted_at IS NULL OFFSET $5::integer - 1)
     RETURNING ${COLUMNS}`,
  ),
};
