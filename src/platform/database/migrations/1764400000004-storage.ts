import { Baseline } from './baseline.js';

/**
 * One row per blob; `bytes` holds those of small ones. `claimed_until` prevents two sweepers from taking the same blob. The CHECK
 * of `sha256` has two parts, for the reason given in `workspaces`.
 *
 * `blob_leftovers`: bytes that no row of `blobs` refers to, written or left behind by a move between stores. A row is inserted
 * before its bytes are written and deleted after them. It has no foreign key, because it outlives blob and workspace.
 *
 * `workspace_id` has no statistics, here and in the other tables of a workspace. With them, the planner would expect one or two
 * rows of a workspace that was small or absent at the last ANALYZE and has grown since, and consider any index that begins with
 * it as good as the right one: lookups would scan the whole workspace. Without them, every workspace counts as a two-hundredth of
 * the table, and a complete key beats a partial one; `PlannerStatistics` handles tables with few rows.
 *
 * The other columns have a tenth of the usual sample: ANALYZE samples whole rows, with up to 2 kB of content, and took 62 MiB for
 * 30,000 of them each time the table had grown by a tenth. Plans only need the frequent values of `state` and `location`.
 */
export class Storage1764400000004 extends Baseline {
  readonly name = 'Storage1764400000004';
  readonly sql = `
    CREATE TABLE blob_stores (
      location text PRIMARY KEY CHECK (location IN ('disk', 's3')),
      id uuid NOT NULL
    );

    CREATE TABLE blobs (
      workspace_id uuid NOT NULL REFERENCES workspaces (id),
      id uuid NOT NULL,
      state text NOT NULL CHECK (state IN ('staged', 'live', 'dying')),
      location text NOT NULL CHECK (location IN ('inline', 'disk', 's3')),
      size bigint CHECK (size >= 0),
      sha256 text CHECK (length(sha256) = 64 AND sha256 ~ '^[0-9a-f]*$'),
      bytes bytea,
      not_before timestamptz,
      created_at timestamptz NOT NULL,
      claimed_until timestamptz,
      PRIMARY KEY (workspace_id, id),
      CHECK ((location = 'inline') = (bytes IS NOT NULL)),
      CHECK (state <> 'live' OR (size IS NOT NULL AND sha256 IS NOT NULL)),
      CHECK (state <> 'dying' OR not_before IS NOT NULL)
    );
    ALTER TABLE blobs
      ALTER COLUMN workspace_id SET STATISTICS 0,
      ALTER COLUMN id SET STATISTICS 10,
      ALTER COLUMN state SET STATISTICS 10,
      ALTER COLUMN location SET STATISTICS 10,
      ALTER COLUMN size SET STATISTICS 10,
      ALTER COLUMN sha256 SET STATISTICS 10,
      ALTER COLUMN bytes SET STATISTICS 0,
      ALTER COLUMN bytes SET STORAGE EXTERNAL,
      ALTER COLUMN not_before SET STATISTICS 10,
      ALTER COLUMN created_at SET STATISTICS 10,
      ALTER COLUMN claimed_until SET STATISTICS 10;
    CREATE INDEX blobs_staged ON blobs (created_at) WHERE state = 'staged';
    CREATE INDEX blobs_dying ON blobs (not_before) WHERE state = 'dying';
    CREATE INDEX blobs_stored ON blobs (location, workspace_id, id) WHERE location <> 'inline';

    CREATE TABLE blob_leftovers (
      location text NOT NULL CHECK (location IN ('disk', 's3')),
      workspace_id uuid NOT NULL,
      id uuid NOT NULL,
      state text NOT NULL CHECK (state IN ('copying', 'dying')),
      not_before timestamptz NOT NULL,
      claimed_until timestamptz,
      PRIMARY KEY (location, workspace_id, id)
    );
    CREATE INDEX blob_leftovers_due ON blob_leftovers (not_before);
  `;
}
