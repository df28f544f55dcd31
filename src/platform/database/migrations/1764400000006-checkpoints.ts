import { Baseline } from './baseline.js';

/** Named marks in the change log. The label is the client's ciphertext and is never read. */
export class Checkpoints1764400000006 extends Baseline {
  readonly name = 'Checkpoints1764400000006';
  readonly sql = `
    CREATE TABLE checkpoints (
      workspace_id uuid NOT NULL REFERENCES workspaces (id),
      id uuid NOT NULL,
      encrypted_label text NOT NULL CHECK (length(encrypted_label) BETWEEN 1 AND 8192),
      kind text NOT NULL CHECK (kind IN ('manual', 'auto')),
      cursor bigint NOT NULL CHECK (cursor >= 0),
      created_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_id, id)
    );
    ALTER TABLE checkpoints ALTER COLUMN workspace_id SET STATISTICS 0;
    CREATE INDEX checkpoints_in_order ON checkpoints (workspace_id, cursor DESC, created_at DESC, id DESC);
  `;
}
