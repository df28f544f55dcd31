import type { MigrationInterface, QueryRunner } from 'typeorm';
import { UPLOADS_OF_MANY } from './1763600000042-uploads-to-many-workspaces.js';

/**
 * The same function without an element of an array as the new value of a column, on which Citus 13.2 crashes, and without the
 * name of a constraint, which is another in each shard.
 */
export class UploadsOnNodes1763600000044 implements MigrationInterface {
  readonly name = 'UploadsOnNodes1763600000044';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(WITHOUT_ELEMENTS);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(REPLACED);
  }
}

const REPLACED = UPLOADS_OF_MANY.replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION');

const WITHOUT_ELEMENTS = REPLACED.replace(
  'first_byte int;',
  `first_byte int;
    blob_size bigint; blob_hash text;`,
)
  .replace(
    `UPDATE blobs b SET state = 'live', size = p_size[n], sha256 = p_hash[n]`,
    `blob_size := p_size[n];
          blob_hash := p_hash[n];
          UPDATE blobs b SET state = 'live', size = blob_size, sha256 = blob_hash`,
  )
  .replace(
    'SET head_cursor = log_heads[array_position(p_workspace, w.id)],',
    'SET head_cursor = greatest(w.head_cursor, log_heads[array_position(p_workspace, w.id)]),',
  )
  .replace('ON CONFLICT ON CONSTRAINT files_path_unique DO', 'ON CONFLICT (workspace_id, path_hash) DO');
