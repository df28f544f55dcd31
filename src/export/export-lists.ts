import { Injectable } from '@nestjs/common';
import { Database, type Parameter, type Statement } from '../platform/database/index.js';
import { Unauthorized } from '../platform/http/index.js';
import { KillSwitch } from '../platform/kill-switch/index.js';
import { type Entry, linesEntry } from './archive.js';
import { exportStatements } from './export.queries.js';

/** How many rows are read at a time: each page is a statement of its own, so no transaction stays open. */
const PAGE = 1_000;

/** Rows of one owner, in the order of a key. */
export interface List<Row = object> {
  /** Values: the owner's id, the position, `bounds`, how many rows. */
  readonly statement: Statement;
  /** Before the first row. */
  readonly start: readonly Parameter[];
  readonly positionOf: (row: Row) => readonly Parameter[];
  /** Excludes rows that are written while the list is read, or a list might never end. */
  readonly bounds?: readonly Parameter[];
}

/** Reads lists page by page, at the reader's pace. */
@Injectable()
export class ExportLists {
  constructor(
    private readonly database: Database,
    private readonly killSwitch: KillSwitch,
  ) {}

  /**
   * The pages of a list; each is consistent, the whole list is not.
   * @param userId whose export it is
   * @throws Unauthorized once the account is deleted or suspended, ServiceUnavailable while the service is down for maintenance
   */
  async *pages<Row>(userId: string, ownerId: string, list: List<Row>): AsyncGenerator<Row[], void> {
    const { statement, start, positionOf, bounds = [] } = list;
    for (let position: readonly Parameter[] | undefined = start; position;) {
      await this.checkStillAllowed(userId);
      const values: Parameter[] = [ownerId, ...position, ...bounds, PAGE];
      const rows: Row[] = await this.database.run<Row>(statement, values);
      if (rows.length > 0) yield rows;
      const last = rows[PAGE - 1];
      position = last && positionOf(last);
    }
  }

  /** A list as files `<name>-000001.jsonl`, one page each; no file when it is empty. */
  async *files<Row>(
    userId: string,
    ownerId: string,
    name: string,
    list: List<Row>,
  ): AsyncGenerator<Entry, void> {
    let number = 0;
    for await (const rows of this.pages(userId, ownerId, list)) yield linesEntry(name, ++number, rows);
  }

  /** @throws Unauthorized, ServiceUnavailable, as `pages` */
  async checkStillAllowed(userId: string): Promise<void> {
    this.killSwitch.refuseWhen('down');
    const [user] = await this.database.run(exportStatements.isAllowed, [userId]);
    if (!user) throw new Unauthorized();
  }
}
