import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A thousand of an ordinary size are counted in a fraction of a second. */
const WORKSPACES_AT_ONCE = 1000;

interface Uncounted {
  readonly id: string;
  readonly bytes: number;
}

/**
 * Adds to `document_bytes` what was there before `DocumentUsage1763600000025`. Whoever has written since has counted it in
 * the same transaction, so what is missing stays the same: it is read without a lock, and added in an update that holds a
 * workspace's row for no longer than an upload does. A run that a crash has ended is repeated, and finds the rest missing.
 *
 * Danger: an upload that began with the functions of before and commits after its workspace was read is never counted. None is
 * left: `DeletedFiles1763600000029` has waited for them.
 */
export class CountedDocuments1763600000030 implements MigrationInterface {
  readonly name = 'CountedDocuments1763600000030';
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    for (let above: string | undefined = '00000000-0000-0000-0000-000000000000'; above !== undefined;) {
      const page = (await runner.query(UNCOUNTED, [above, WORKSPACES_AT_ONCE])) as Uncounted[];
      for (const { id, bytes } of page) if (bytes !== 0) await runner.query(add(bytes, id));
      above = page.at(-1)?.id;
    }
  }

  /** The column goes with the migration that made it. */
  down(): Promise<void> {
    return Promise.resolve();
  }
}

/** For $2 workspaces above $1: bytes of kept versions that the count lacks, all of one snapshot. */
const UNCOUNTED = `
  SELECT w.id, (
    SELECT coalesce(sum(b.size), 0)::bigint FROM blobs b
    WHERE b.workspace_id = w.id
      AND EXISTS (SELECT FROM versions v WHERE v.workspace_id = b.workspace_id AND v.blob_id = b.id)
  ) - w.document_bytes AS bytes
  FROM (SELECT id, document_bytes FROM workspaces WHERE id > $1 AND deleted_at IS NULL ORDER BY id LIMIT $2) w
  ORDER BY w.id`;

/** One transaction. It does not wait for the disk: the commit that notes this migration does, for all of them. */
const add = (bytes: number, id: string): string => `
  SET LOCAL synchronous_commit = off;
  UPDATE workspaces SET document_bytes = document_bytes + ${bytes} WHERE id = '${id}'`;
