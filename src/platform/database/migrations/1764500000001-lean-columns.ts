import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isOnNodes } from '../database-server.js';
import { underTableLocks } from './table-locks.js';

/** Placeholder for a blob until the commit, when the version that has the blob exists. */
export const NO_BLOB = '00000000-0000-0000-0000-000000000000';

/**
 * `files.blob_id` is the blob of a file's head, `changes.path` the path of a change's file: a download and a page of the log then
 * read one table by its key (docs/adr/0052-lean-reads.md). The next migration fills them for existing rows.
 *
 * Instances of the previous version may write during the migration and afterwards. They do not know the columns, so triggers fill
 * them: a path immediately, a blob at the commit. A migration of a later version drops these triggers. On a distributed database
 * the engine does not support triggers, so `migrate` refuses to run while an instance runs.
 */
export class LeanColumns1764500000001 implements MigrationInterface {
  readonly name = 'LeanColumns1764500000001';

  async up(runner: QueryRunner): Promise<void> {
    await underTableLocks(runner, ['files', 'changes']);
    await runner.query('ALTER TABLE files ADD COLUMN blob_id uuid');
    await runner.query('ALTER TABLE changes ADD COLUMN path text');
    const rowsOf = (sql: string): Promise<unknown[]> => runner.query(sql) as Promise<unknown[]>;
    if (!(await isOnNodes(rowsOf))) await runner.query(TRIGGERS);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER IF EXISTS fill_path ON changes;
      DROP TRIGGER IF EXISTS begin_blob ON files;
      DROP TRIGGER IF EXISTS fill_blob_of_new ON files;
      DROP TRIGGER IF EXISTS fill_blob ON files;
      DROP FUNCTION IF EXISTS fill_path(), begin_blob(), fill_blob();
      ALTER TABLE files DROP COLUMN blob_id;
      ALTER TABLE changes DROP COLUMN path;
    `);
  }
}

/** `IS NOT DISTINCT FROM`, because both are NULL until the row is filled, and the filling may already be past this row. */
const TRIGGERS = `
  CREATE FUNCTION fill_path() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    SELECT encrypted_path INTO NEW.path FROM files WHERE workspace_id = NEW.workspace_id AND id = NEW.file_id;
    RETURN NEW;
  END $$;
  CREATE TRIGGER fill_path BEFORE INSERT ON changes FOR EACH ROW
    WHEN (NEW.path IS NULL) EXECUTE FUNCTION fill_path();

  CREATE FUNCTION begin_blob() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.blob_id := '${NO_BLOB}';
    RETURN NEW;
  END $$;
  CREATE TRIGGER begin_blob BEFORE INSERT ON files FOR EACH ROW
    WHEN (NEW.blob_id IS NULL) EXECUTE FUNCTION begin_blob();

  CREATE FUNCTION fill_blob() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE files f SET blob_id = v.blob_id FROM versions v
    WHERE f.workspace_id = NEW.workspace_id AND f.id = NEW.id
      AND v.workspace_id = f.workspace_id AND v.file_id = f.id AND v.version = f.version
      AND v.blob_id IS DISTINCT FROM f.blob_id;
    RETURN NULL;
  END $$;
  CREATE CONSTRAINT TRIGGER fill_blob_of_new AFTER INSERT ON files DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.blob_id = '${NO_BLOB}') EXECUTE FUNCTION fill_blob();
  CREATE CONSTRAINT TRIGGER fill_blob AFTER UPDATE OF version ON files DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.version <> OLD.version AND NEW.blob_id IS NOT DISTINCT FROM OLD.blob_id) EXECUTE FUNCTION fill_blob()`;
