import { Injectable } from '@nestjs/common';
import { WorkspaceAccess, WorkspaceClosed, type WorkspaceRef } from '../../access/index.js';
import { BEFORE_ALL_IDS, Database, type Statement } from '../../platform/database/index.js';
import { NotFound } from '../../platform/http/index.js';
import type { ListedFile, LogBounds } from '../files/index.js';
import type { LoggedChange } from '../workspaces/index.js';
import { refuseCursor } from './sync.dto.js';
import { pageStatements, syncStatements } from './sync.queries.js';

interface Page {
  readonly workspace: WorkspaceRef;
  /** The page starts after this cursor or id. */
  readonly from: number | string;
  readonly limit: number;
}

interface PageRow<Position> extends LogBounds {
  /** The last position on the page; null when the page is empty. */
  readonly last: Position | null;
  /** JSON values, separated by commas. */
  readonly items: string;
  readonly hasMore: boolean;
}

/** Adds the cursor of the first change on the page, or null. */
type PullRow = PageRow<number> & { readonly first: number | null };

/** Pull and snapshot as response JSON: the most frequent requests, with at most a thousand rows each. */
@Injectable()
export class Pages {
  constructor(
    private readonly database: Database,
    private readonly workspaceAccess: WorkspaceAccess,
  ) {}

  /** `{ files, cursor, nextPageCursor, hasMore }`: live files above an id, and a head cursor that is not newer than the page. */
  async snapshot(workspace: WorkspaceRef, pageCursor: string | undefined, limit: number): Promise<string> {
    const page = { workspace, from: pageCursor ?? BEFORE_ALL_IDS, limit };
    const { headCursor, last, items, hasMore } = await this.read<PageRow<string>>(
      pageStatements.snapshot,
      page,
    );
    const next = JSON.stringify(hasMore ? last : null);
    return `{"files":[${items}],"cursor":${headCursor},"nextPageCursor":${next},"hasMore":${hasMore}}`;
  }

  /** `{ files, nextPageCursor, hasMore }`: soft-deleted files above an id. */
  async trash(workspace: WorkspaceRef, pageCursor: string | undefined, limit: number): Promise<string> {
    const page = { workspace, from: pageCursor ?? BEFORE_ALL_IDS, limit };
    const { last, items, hasMore } = await this.read<PageRow<string>>(pageStatements.trash, page);
    return `{"files":[${items}],"nextPageCursor":${JSON.stringify(hasMore ? last : null)},"hasMore":${hasMore}}`;
  }

  /**
   * `{ changes, cursor, hasMore }`: the changes above a cursor, oldest first, and the cursor to continue from.
   * @throws Conflict needsBootstrap
   */
  async pull(workspace: WorkspaceRef, cursor: number, limit: number): Promise<string> {
    const page = { workspace, from: cursor, limit };
    const { first, last, items, hasMore, ...head } = await this.read<PullRow>(pageStatements.pull, page);
    await refuseCursor(this.database, { workspaceId: workspace.id, cursor, next: first }, head);
    return `{"changes":[${items}],"cursor":${last ?? cursor},"hasMore":${hasMore}}`;
  }

  /** Even an empty page is a row. @throws WorkspaceClosed */
  private async read<Row>(query: Statement, { workspace, from, limit }: Page): Promise<Row> {
    const access = await this.workspaceAccess.admittedParameters(workspace.caller);
    const [row] = await this.database.run<Row>(query, [workspace.id, from, limit, ...access]);
    if (!row) throw new WorkspaceClosed();
    return row;
  }
}

export interface Change extends LoggedChange {
  readonly changedAt: Date;
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

  /** Returns one page of live files with ids above `pageCursor`, and a head cursor that is not newer than the page. */
  async snapshot(
    workspaceId: string,
    pageCursor: string | undefined,
    limit: number,
  ): Promise<{ files: ListedFile[]; cursor: number; hasMore: boolean }> {
    const values = [workspaceId, pageCursor ?? BEFORE_ALL_IDS, limit + 1];
    const rows = await this.database.run<LogBounds & (ListedFile | { id: null })>(
      syncStatements.snapshot,
      values,
    );
    const files = rows.filter((row): row is LogBounds & ListedFile => row.id !== null);
    return {
      files: files.slice(0, limit),
      cursor: requireRow(rows).headCursor,
      hasMore: files.length > limit,
    };
  }

  /** Returns the changes above a cursor, oldest first, and the cursor to continue from. @throws Conflict needsBootstrap */
  async pull(
    workspaceId: string,
    cursor: number,
    limit: number,
  ): Promise<{ changes: Change[]; cursor: number; hasMore: boolean }> {
    const values = [workspaceId, cursor, limit + 1];
    const rows = await this.database.run<LogBounds & (Change | { cursor: null })>(
      syncStatements.pull,
      values,
    );
    const head = requireRow(rows);
    const changes = rows.filter((row): row is LogBounds & Change => row.cursor !== null);
    await refuseCursor(this.database, { workspaceId, cursor, next: changes[0]?.cursor }, head);
    const page = changes.slice(0, limit);
    return { changes: page, cursor: page.at(-1)?.cursor ?? cursor, hasMore: changes.length > limit };
  }
}

/** Returns the first row of a query that has one unless the workspace was deleted meanwhile. @throws NotFound */
function requireRow<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new NotFound('workspace not found');
  return row;
}
