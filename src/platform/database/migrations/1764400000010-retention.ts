import { Baseline } from './baseline.js';

/**
 * `retention_progress`, at most one row: the time up to which retention has run. `retention_marks`: how far retention has read
 * the log of each workspace, under which rule, and whether a checkpoint has been deleted since. `retention_queue`: the files
 * whose versions will be superseded, and from when. The next run reads a workspace without a mark completely.
 */
export class Retention1764400000010 extends Baseline {
  readonly name = 'Retention1764400000010';
  readonly sql = `
    CREATE TABLE retention_progress (
      id boolean PRIMARY KEY DEFAULT true CHECK (id),
      as_of timestamptz NOT NULL
    );

    CREATE TABLE retention_marks (
      workspace_id uuid PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
      cursor bigint NOT NULL,
      rule text NOT NULL,
      has_unpinned boolean NOT NULL DEFAULT false
    );

    CREATE TABLE retention_queue (
      workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
      file_id uuid NOT NULL,
      due_at timestamptz NOT NULL,
      is_pinned boolean NOT NULL DEFAULT false,
      revision bigint NOT NULL DEFAULT 0,
      PRIMARY KEY (workspace_id, file_id)
    );
    CREATE INDEX retention_queue_due ON retention_queue (workspace_id, due_at, file_id);
  `;
}
