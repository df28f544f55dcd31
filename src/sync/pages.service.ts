import { Injectable } from '@nestjs/common';
import { BEFORE_ALL_IDS, Database, type Parameter, type Statement } from '../platform/database/index.js';
import { Standings, WorkspaceClosed, type WorkspaceRef } from '../workspaces/index.js';
import { refuseCursor } from './cursors.js';
import { pageStatements } from './pages.queries.js';

interface PageRow<Position> {
  readonly headCursor: number;
  readonly compactionFloor: number | null;
  /** Where the page ends; null when it is empty. */
  readonly last: Position | null;
  /** JSON values, with commas between them. */
  readonly items: string;
  readonly hasMore: boolean;
}

/** Pull and snapshot as the JSON that goes out: what clients ask for most, and at most a thousand rows at a time. */
@Injectable()
export class Pages {
  constructor(
    private readonly database: Database,
    private readonly standings: Standings,
  ) {}

  /** `{ files, cursor, nextPageCursor, hasMore }`: live files above an id, and a head that the page is at least as new as. */
  async snapshot(workspace: WorkspaceRef, pageCursor: string | undefined, limit: number): Promise<string> {
    const { headCursor, last, items, hasMore } = await this.page<PageRow<string>>(
      pageStatements.snapshot,
      workspace,
      [pageCursor ?? BEFORE_ALL_IDS, limit],
    );
    const next = JSON.stringify(hasMore ? last : null);
    return `{"files":[${items}],"cursor":${headCursor},"nextPageCursor":${next},"hasMore":${hasMore}}`;
  }

  /** `{ changes, cursor, hasMore }`: the changes above a cursor, oldest first, and the cursor to go on from. @throws Conflict needsBootstrap */
  async pull(workspace: WorkspaceRef, cursor: number, limit: number): Promise<string> {
    const { first, last, items, hasMore, ...head } = await this.page<
      PageRow<number> & { first: number | null }
    >(pageStatements.pull, workspace, [cursor, limit]);
    await refuseCursor(this.database, { workspaceId: workspace.id, cursor, next: first }, head);
    return `{"changes":[${items}],"cursor":${last ?? cursor},"hasMore":${hasMore}}`;
  }

  /** Even an empty page has one row. @throws WorkspaceClosed */
  private async page<Row>(query: Statement, { id, caller }: WorkspaceRef, from: Parameter[]): Promise<Row> {
    const [row] = await this.database.run<Row>(query, [
      id,
      ...from,
      ...this.standings.accessParameters(caller),
    ]);
    if (!row) throw new WorkspaceClosed();
    return row;
  }
}
