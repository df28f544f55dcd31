import { Injectable } from '@nestjs/common';
import { BEFORE_ALL_IDS, Database, type Statement } from '../../platform/database/index.js';
import { WorkspaceAccess, WorkspaceClosed, type WorkspaceRef } from '../../access/index.js';
import { refuseCursor } from './cursors.js';
import { pageStatements } from './sync.queries.js';

interface Page {
  readonly workspace: WorkspaceRef;
  /** The page starts after this cursor or id. */
  readonly from: number | string;
  readonly limit: number;
}

interface PageRow<Position> {
  readonly headCursor: number;
  readonly compactionFloor: number | null;
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

  /**
   * `{ files, cursor, nextPageCursor, hasMore }`: live files above an id, and a head that the page is at least as new
   * as.
   */
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
