import { Injectable } from '@nestjs/common';
import { Database, statement } from '../platform/database/index.js';
import { NotFound } from '../platform/http/index.js';
import { type BlobReference, Blobs, type ByteRange } from '../storage/index.js';

const noteStatements = {
  /**
   * The live heads of these paths, with the location of their bytes; inline bytes are included up to size $3. Looked
   * up path by path, so the plan does not depend on the planner's estimate of the workspace's size.
   */
  heads: statement(
    'automation.heads',
    `SELECT f.encrypted_path AS "encryptedPath", f.version, f.content_hash AS "contentHash", f.updated_at AS "updatedAt",
            v.encrypted_size AS size, b.workspace_id AS "workspaceId", b.id, b.location,
            CASE WHEN v.encrypted_size <= $3 THEN b.bytes END AS bytes
     FROM unnest($2::text[]) AS asked (path)
     CROSS JOIN LATERAL (
       SELECT * FROM files WHERE workspace_id = $1 AND path_hash = sha256(asked.path::bytea) AND NOT is_deleted
     ) f
     JOIN versions v ON v.workspace_id = $1 AND v.file_id = f.id AND v.version = f.version
     JOIN blobs b ON b.workspace_id = $1 AND b.id = v.blob_id`,
  ),

  /** When a version was written. */
  writtenAt: statement(
    'automation.written_at',
    'SELECT created_at AS "writtenAt" FROM versions WHERE workspace_id = $1 AND file_id = $2 AND version = $3',
  ),
};

/** The newest version of a live file and the location of its ciphertext. */
export interface Head extends BlobReference {
  readonly encryptedPath: string;
  readonly version: number;
  /** SHA-256 of the ciphertext. */
  readonly contentHash: string;
  readonly updatedAt: Date;
}

/** Reads the files whose plaintext is requested. */
@Injectable()
export class NoteHeads {
  constructor(
    private readonly database: Database,
    private readonly blobs: Blobs,
  ) {}

  /** @throws NotFound unless the path is live */
  async at(workspaceId: string, encryptedPath: string): Promise<Head> {
    const [head] = await this.among(workspaceId, [encryptedPath]);
    if (!head) throw new NotFound('file not found');
    return head;
  }

  /**
   * Returns the live ones among the paths. @param maxSize inline bytes of larger files are not fetched, so these
   * cannot be read
   */
  among(
    workspaceId: string,
    encryptedPaths: readonly string[],
    maxSize = Number.MAX_SAFE_INTEGER,
  ): Promise<Head[]> {
    return this.database.run<Head>(noteStatements.heads, [workspaceId, encryptedPaths, maxSize]);
  }

  /** Returns the whole ciphertext. */
  envelope(blob: BlobReference): Promise<Buffer> {
    return this.blobs.readWhole(blob);
  }

  /** Streams a part of an envelope that is not stored inline, at the reader's pace. */
  pieces(blob: BlobReference, range: ByteRange): AsyncIterable<Buffer> {
    return this.blobs.pieces(blob, range);
  }

  /** When a version was written: its file row, its change and its version share this time. */
  async writtenAt(workspaceId: string, fileId: string, version: number): Promise<Date> {
    const values = [workspaceId, fileId, version];
    const [row] = await this.database.run<{ writtenAt: Date }>(noteStatements.writtenAt, values);
    if (!row) throw new NotFound('workspace not found'); // purged meanwhile
    return row.writtenAt;
  }
}
