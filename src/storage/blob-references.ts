import { type Database, statement } from '../platform/database/index.js';

/**
 * The references to blobs: every foreign key to the table, read from the database itself, so that a table of a later module is
 * included without being listed here. The keys of partitions repeat those of their tables.
 */
export class BlobReferences {
  private constructor(
    /** SQL condition for a row `b` of `blobs` that no row of another table references. */
    readonly unreferenced: string,
  ) {}

  /** Read once at start, after the migrations: only they create tables. */
  static async read(database: Database): Promise<BlobReferences> {
    const keys = await database.run<{ from: string; on: string }>(foreignKeys, []);
    // Without any, every blob marked for deletion would count as unreferenced.
    if (keys.length === 0) throw new Error('no table refers to blobs');
    return new BlobReferences(
      keys.map(({ from, on }) => `NOT EXISTS (SELECT 1 FROM ${from} r WHERE ${on})`).join('\n AND '),
    );
  }
}

const foreignKeys = statement(
  'blobs.foreign_keys',
  `SELECT k.conrelid::regclass::text AS "from",
          string_agg(format('r.%I = b.%I', theirs.attname, ours.attname), ' AND ' ORDER BY position) AS "on"
   FROM pg_constraint k
   CROSS JOIN unnest(k.conkey, k.confkey) WITH ORDINALITY AS pair (their_number, our_number, position)
   JOIN pg_attribute theirs ON theirs.attrelid = k.conrelid AND theirs.attnum = their_number
   JOIN pg_attribute ours ON ours.attrelid = k.confrelid AND ours.attnum = our_number
   WHERE k.contype = 'f' AND k.confrelid = 'blobs'::regclass AND k.conparentid = 0
   GROUP BY k.oid, k.conrelid
   ORDER BY 1, 2`,
);
