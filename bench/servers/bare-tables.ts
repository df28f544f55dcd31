/**
 * The minimal tables for what the service stores about an upload: its file, its version and its change, without
 * foreign keys.
 */
export const BARE_TABLES = `
  CREATE TABLE workspace (id uuid PRIMARY KEY, cursor bigint NOT NULL) WITH (fillfactor = 50);
  CREATE TABLE file (
    workspace uuid, path text, hash text, size bigint, version int, blob uuid, at timestamptz, PRIMARY KEY (workspace, path)
  ) WITH (fillfactor = 80);
  CREATE TABLE version (
    workspace uuid, path text, version int, hash text, size bigint, blob uuid, device text, at timestamptz,
    PRIMARY KEY (workspace, path, version)
  );
  CREATE TABLE change (
    workspace uuid, cursor bigint, path text, hash text, size bigint, version int, device text, at timestamptz,
    PRIMARY KEY (workspace, cursor)
  )`;

/**
 * The ideal statement: the next cursors, which also act as the lock, and all rows of all waiting uploads, in one
 * round trip and one flush.
 */
export const BARE_PUT = `
  WITH given AS (
    SELECT * FROM unnest($2::text[], $3::text[], $4::bigint[], $5::uuid[], $6::text[])
      WITH ORDINALITY AS given (path, hash, size, blob, device, ord)
  ), head AS (
    INSERT INTO workspace VALUES ($1, cardinality($2::text[]))
    ON CONFLICT (id) DO UPDATE SET cursor = workspace.cursor + cardinality($2::text[])
    RETURNING cursor - cardinality($2::text[]) AS cursor
  ), saved AS (
    INSERT INTO file SELECT $1, path, hash, size, 1, blob, $7 FROM given
    ON CONFLICT (workspace, path) DO UPDATE
      SET hash = excluded.hash, size = excluded.size, version = file.version + 1, blob = excluded.blob, at = excluded.at
    RETURNING path, version
  ), kept AS (
    INSERT INTO version
    SELECT $1, path, saved.version, hash, size, blob, device, $7 FROM given JOIN saved USING (path)
  ), logged AS (
    INSERT INTO change
    SELECT $1, head.cursor + ord, path, hash, size, saved.version, device, $7 FROM head, given JOIN saved USING (path)
  )
  SELECT ord::int, head.cursor + ord AS cursor, saved.version FROM head, given JOIN saved USING (path) ORDER BY ord`;

export const BARE_HEAD = 'SELECT hash, size, version, blob FROM file WHERE workspace = $1 AND path = $2';
