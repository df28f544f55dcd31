import type { TestService } from './service.js';

/** Rewinds a workspace to a cursor like `admin restore`. Later cursors are not reused. */
export async function putBack(
  { database }: Pick<TestService, 'database'>,
  workspaceId: string,
  cursor: number,
): Promise<void> {
  const where = 'workspace_id = $1';
  const id = [workspaceId];
  await database.query(`DELETE FROM changes WHERE ${where} AND cursor > $2`, [workspaceId, cursor]);
  await database.query(`DELETE FROM versions WHERE ${where} AND change_cursor > $2`, [workspaceId, cursor]);
  await database.query(
    `DELETE FROM files f WHERE ${where} AND NOT EXISTS (SELECT FROM versions v WHERE v.file_id = f.id)`,
    id,
  );
  await database.query(
    `UPDATE files f SET version = c.version, blob_id = (
              SELECT blob_id FROM versions v WHERE v.${where} AND v.file_id = f.id AND v.version = c.version
            ), content_hash = c.content_hash, encrypted_size = c.encrypted_size,
            is_deleted = c.action = 'delete'
       FROM (SELECT DISTINCT ON (file_id) * FROM changes WHERE ${where} ORDER BY file_id, cursor DESC) c
      WHERE f.${where} AND c.file_id = f.id`,
    id,
  );
  await database.query('UPDATE workspaces SET head_cursor = head_cursor + 1000000 WHERE id = $1', id);
}
