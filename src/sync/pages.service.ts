import { Injectable } from '@nestjs/common';
import { BatchLoader } from '../platform/async/index.js';
import { BEFORE_ALL_IDS, Database, type Statement } from '../platform/database/index.js';
import { accessKey, WorkspaceAccess, WorkspaceClosed } from '../access/guards/index.js';
import type { WorkspaceRef } from '../access/index.js';
import { refuseCursor } from './cursors.js';
import { pageStatements } from './pages.queries.js';

/**
 * The maximum number of rows per batch of pages: four pages of the usual hundred. The pages of a batch are read one
 * after the other; larger batches would take longer than separate queries.
 */
const MOST_ROWS = 512;
/** The cost of a page apart from its rows, expressed in rows. */
const PAGE_ROWS = 16;

interface Ask {
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

/**
 * Pull and snapshot as response JSON: the most frequent requests, with at most a thousand rows each. Small pages that
 * one caller requests concurrently share round trips.
 */
@Injectable()
export class Pages {
  private readonly snapshots = this.gatherer<PageRow<string>>(pageStatements.snapshot);
  private readonly trashed = this.gatherer<PageRow<string>>(pageStatements.trash);
  private readonly pulls = this.gatherer<PullRow>(pageStatements.pull);

  constructor(
    private readonly database: Database,
    private readonly workspaceAccess: WorkspaceAccess,
  ) {}

  /**
   * `{ files, cursor, nextPageCursor, hasMore }`: live files above an id, and a head that the page is at least as new
   * as.
   */
  async snapshot(workspace: WorkspaceRef, pageCursor: string | undefined, limit: number): Promise<string> {
    const ask = { workspace, from: pageCursor ?? BEFORE_ALL_IDS, limit };
    const { headCursor, last, items, hasMore } = await page(this.snapshots, ask);
    const next = JSON.stringify(hasMore ? last : null);
    return `{"files":[${items}],"cursor":${headCursor},"nextPageCursor":${next},"hasMore":${hasMore}}`;
  }

  /** `{ files, nextPageCursor, hasMore }`: soft-deleted files above an id. */
  async trash(workspace: WorkspaceRef, pageCursor: string | undefined, limit: number): Promise<string> {
    const ask = { workspace, from: pageCursor ?? BEFORE_ALL_IDS, limit };
    const { last, items, hasMore } = await page(this.trashed, ask);
    return `{"files":[${items}],"nextPageCursor":${JSON.stringify(hasMore ? last : null)},"hasMore":${hasMore}}`;
  }

  /**
   * `{ changes, cursor, hasMore }`: the changes above a cursor, oldest first, and the cursor to continue from.
   * @throws Conflict needsBootstrap
   */
  async pull(workspace: WorkspaceRef, cursor: number, limit: number): Promise<string> {
    const ask = { workspace, from: cursor, limit };
    const { first, last, items, hasMore, ...head } = await page(this.pulls, ask);
    await refuseCursor(this.database, { workspaceId: workspace.id, cursor, next: first }, head);
    return `{"changes":[${items}],"cursor":${last ?? cursor},"hasMore":${hasMore}}`;
  }

  private gatherer<Row>(query: Statement): BatchLoader<Ask, Row> {
    return new BatchLoader(MOST_ROWS, (asks) => this.read<Row>(query, asks));
  }

  /** All asks must come from one caller and one workspace. Even an empty page is a row. @throws WorkspaceClosed */
  private async read<Row>(query: Statement, asks: readonly Ask[]): Promise<Row[]> {
    const [first] = asks;
    if (!first) return [];
    const { id, caller } = first.workspace;
    const rows = await this.database.run<Row & { place: number }>(query, [
      id,
      asks.map(({ from }) => from),
      asks.map(({ limit }) => limit),
      ...this.workspaceAccess.accessParameters(caller),
    ]);
    if (rows.length === 0) throw new WorkspaceClosed();
    const pages = new Map(rows.map((row) => [row.place, row]));
    return asks.map((_, index) => pages.get(index + 1) as Row);
  }
}

const page = <Row>(pages: BatchLoader<Ask, Row>, ask: Ask): Promise<Row> =>
  pages.load(accessKey(ask.workspace), ask, PAGE_ROWS + ask.limit);
