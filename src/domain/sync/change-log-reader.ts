import { Injectable } from '@nestjs/common';
import type { ListedFile } from '../files/index.js';
import { BEFORE_ALL_IDS, Database } from '../../platform/database/index.js';
import { NotFound } from '../../platform/http/index.js';
import type { LoggedChange } from '../workspaces/index.js';
import { refuseCursor } from './cursors.js';
import { syncStatements } from './sync.queries.js';

export interface Change extends LoggedChange {
  readonly changedAt: Date;
}

interface Head {
  readonly headCursor: number;
  readonly compactionFloor: number | null;
}

/**
 * Status, snapshot and changes as rows, for live rooms and the Automation API. The HTTP routes for snapshot and pull
 * use `Pages`, which reads the response text.
 */
@Injectable()
export class ChangeLogReader {
  constructor(private readonly database: Database) {}

  /** Returns the head cursor and the number of live files. */
  async status(workspaceId: string): Promise<{ cursor: number; fileCount: number }> {
    const rows = await this.database.run<{ headCursor: number; liveFiles: number }>(syncStatements.status, [
      workspaceId,
    ]);
    const { headCursor, liveFiles } = requireRow(rows);
    return { cursor: headCursor, fileCount: liveFiles };
  }

  /**
   * Returns one page of live files with ids above `pageCursor`, and a head cursor that the page is at least as new
   * as.
   */
  async snapshot(
    workspaceId: string,
    pageCursor: string | undefined,
    limit: number,
  ): Promise<{ files: ListedFile[]; cursor: number; hasMore: boolean }> {
    const values = [workspaceId, pageCursor ?? BEFORE_ALL_IDS, limit + 1];
    const rows = await this.database.run<Head & (ListedFile | { id: null })>(syncStatements.snapshot, values);
    const files = rows.filter((row): row is Head & ListedFile => row.id !== null);
    return {
      files: files.slice(0, limit),
      cursor: requireRow(rows).headCursor,
      hasMore: files.length > limit,
    };
  }

  /**
   * Returns the changes above a cursor, oldest first, and the cursor to continue from. @throws Conflict
   * needsBootstrap
   */
  async pull(
    workspaceId: string,
    cursor: number,
    limit: number,
  ): Promise<{ changes: Change[]; cursor: number; hasMore: boolean }> {
    const values = [workspaceId, cursor, limit + 1];
    const rows = await this.database.run<Head & (Change | { cursor: null })>(syncStatements.pull, values);
    const head = requireRow(rows);
    const changes = rows.filter((row): row is Head & Change => row.cursor !== null);
    await refuseCursor(this.database, { workspaceId, cursor, next: changes[0]?.cursor }, head);
    const page = changes.slice(0, limit);
    return { changes: page, cursor: page.at(-1)?.cursor ?? cursor, hasMore: changes.length > limit };
  }
}

/**
 * Returns the only row of a query that always has one; no row means the workspace was deleted concurrently. @throws
 * NotFound
 */
function requireRow<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new NotFound('workspace not found');
  return row;
}
