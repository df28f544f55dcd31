import { Injectable } from '@nestjs/common';
import { isUUID } from 'class-validator';
import { Clock } from '../platform/clock/index.js';
import { Database, newId, ofWorkspace, statement } from '../platform/database/index.js';
import { NotFound } from '../platform/http/index.js';
import { lockLog } from './change-log.js';
import { ChangePublisher } from './change-publisher.js';
import type { VersionBytes } from './file-content-loader.js';

export const versionStatements = {
  /**
   * Up to $4 versions of a path with numbers below $3, newest first. One row without an id when there are none; no
   * row for an unknown path or workspace.
   */
  page: ofWorkspace(
    'versions.page',
    `SELECT page.* FROM workspaces w
     JOIN files f ON f.workspace_id = $1 AND f.path_hash = sha256($2::text::bytea)
     LEFT JOIN LATERAL (
       SELECT id, version, content_hash AS "contentHash", encrypted_size AS "encryptedSize", device_id AS "deviceId",
              created_at AS "createdAt", change_cursor AS "changeCursor"
       FROM versions WHERE workspace_id = $1 AND file_id = f.id AND version < $3 ORDER BY version DESC LIMIT $4
     ) page ON true
     WHERE w.id = $1 AND w.deleted_at IS NULL
     ORDER BY page.version DESC`,
  ),

  /** One version of exactly this path, with the location of its bytes. */
  content: ofWorkspace(
    'versions.content',
    `SELECT v.version, v.created_at AS "createdAt", v.content_hash AS "contentHash", v.encrypted_size AS size,
            b.workspace_id AS "workspaceId", b.id, b.location, b.bytes
     FROM files f
     JOIN versions v ON v.workspace_id = f.workspace_id AND v.file_id = f.id
     JOIN blobs b ON b.workspace_id = v.workspace_id AND b.id = v.blob_id
     WHERE f.workspace_id = $1 AND f.path_hash = sha256($2::text::bytea) AND v.id = $3`,
  ),

  /**
   * Makes a version's content the newest: inserts a version that shares its blob and a change row, and undeletes the
   * file. Run it under the log's lock. Returns no row when the path has no such version.
   */
  restore: statement(
    'versions.restore',
    `WITH source AS (
       SELECT f.id AS file_id, f.version + 1 AS version, f.is_deleted, v.blob_id, v.content_hash, v.encrypted_size
       FROM files f JOIN versions v ON v.workspace_id = f.workspace_id AND v.file_id = f.id
       WHERE f.workspace_id = $1 AND f.path_hash = sha256($2::text::bytea) AND v.id = $3
     ), head AS (
       UPDATE workspaces w
       SET head_cursor = w.head_cursor + 1, live_files = w.live_files + source.is_deleted::int
       FROM source WHERE w.id = $1
       RETURNING w.head_cursor AS cursor
     ), minted AS (
       INSERT INTO versions (workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, device_id, change_cursor, created_at)
       SELECT $1, $4, file_id, version, blob_id, content_hash, encrypted_size, $5, head.cursor, $6 FROM source, head
     ), logged AS (
       INSERT INTO changes (workspace_id, cursor, file_id, action, content_hash, encrypted_size, version, changed_at, changed_by_device)
       SELECT $1, head.cursor, file_id, 'upsert', content_hash, encrypted_size, version, $6, $5 FROM source, head
     ), headed AS (
       UPDATE files f
       SET content_hash = source.content_hash, encrypted_size = source.encrypted_size, version = source.version,
           is_deleted = false, updated_at = $6
       FROM source WHERE f.workspace_id = $1 AND f.id = source.file_id
     )
     SELECT file_id AS "fileId", version, content_hash AS "contentHash", encrypted_size AS "encryptedSize"
     FROM source`,
  ),
};

const PAGE = 1000;

/** Above every version number, so the first page starts at the newest version. */
const TOP = 2 ** 31 - 1;

export interface Version {
  readonly id: string;
  readonly version: number;
  readonly contentHash: string;
  readonly encryptedSize: number;
  readonly deviceId: string | null;
  readonly createdAt: Date;
  /** Cursor of the change that produced the version; null for rows older than the column. */
  readonly changeCursor: number | null;
}

/** A version's ciphertext, with its number and creation time. */
export interface VersionContent extends VersionBytes, Pick<Version, 'version' | 'createdAt'> {}

export interface Restored {
  readonly fileId: string;
  readonly version: number;
  readonly contentHash: string;
  readonly encryptedSize: number;
}

/** The version history of a path, including deleted paths. */
@Injectable()
export class Versions {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly changePublisher: ChangePublisher,
  ) {}

  /**
   * Lists versions newest first, page by page. Each page is consistent, the whole list is not.
   * @throws NotFound for an unknown path; mid-stream, when the workspace has been deleted
   */
  async *list(workspaceId: string, encryptedPath: string): AsyncGenerator<Version[], void> {
    for (let below: number | undefined = TOP; below !== undefined;) {
      const values = [workspaceId, encryptedPath, below, PAGE];
      const rows: (Version | { id: null })[] = await this.database.run(versionStatements.page, values);
      const page = rows.filter((row) => row.id !== null);
      const isAbsent = below === TOP && page.length === 0; // every file has at least one version
      if (isAbsent || rows.length === 0) throw new NotFound('file not found');
      yield page;
      below = page[PAGE - 1]?.version;
    }
  }

  /** @throws NotFound for a version that does not belong to this path */
  async content(workspaceId: string, encryptedPath: string, versionId: string): Promise<VersionContent> {
    if (!isUUID(versionId)) throw new NotFound('version not found');
    const values = [workspaceId, encryptedPath, versionId];
    const [content] = await this.database.run<VersionContent>(versionStatements.content, values);
    if (!content) throw new NotFound('version not found');
    return content;
  }

  /**
   * Makes an old version the newest: adds exactly one version and one change row, shares the old blob, and loses
   * nothing. A deleted path becomes live again.
   * @param deviceId the initiating device, or null
   * @throws NotFound
   */
  async restore(
    workspaceId: string,
    encryptedPath: string,
    versionId: string,
    deviceId: string | null,
  ): Promise<Restored> {
    if (!isUUID(versionId)) throw new NotFound('version not found');
    const restored = await this.database.workspaceTransaction(workspaceId, async (tx) => {
      await lockLog(tx, workspaceId);
      const [row] = await tx.run<Restored>(versionStatements.restore, [
        workspaceId,
        encryptedPath,
        versionId,
        newId(),
        deviceId,
        this.clock.now(),
      ]);
      if (!row) throw new NotFound('version not found');
      return row;
    });
    this.changePublisher.changed(workspaceId, deviceId, 'restore');
    return restored;
  }
}
