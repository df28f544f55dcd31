import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, IsNull, Repository } from 'typeorm';
import { UserEntity } from '../../auth/index.js';
import { Database, type Parameter, type Statement } from '../../../platform/database/index.js';
import { Unauthorized } from '../../../platform/http/index.js';
import { KillSwitch } from '../../../platform/kill-switch/index.js';
import { type Entry, linesEntry } from './archive.js';

/** How many rows are read at a time: each page is a statement of its own, so no transaction stays open. */
const PAGE = 1_000;

/** Reads up to `limit` rows of an owner above a position, by repositories of `manager`. */
type ReadPage = (
  manager: EntityManager,
  ownerId: string,
  position: readonly Parameter[],
  limit: number,
) => Promise<object[]>;

/** Rows of one owner, in the order of a key. */
export interface List<Row = object> {
  /** The values of a statement: the owner's id, the position, `bounds`, how many rows. */
  readonly read: ReadPage | Statement;
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
    @InjectRepository(UserEntity) private readonly users: Repository<UserEntity>,
  ) {}

  /**
   * The pages of a list; each is consistent, the whole list is not.
   * @param userId whose export it is
   * @throws Unauthorized once the account is deleted or suspended, ServiceUnavailable while the service is down for maintenance
   */
  async *pages<Row>(userId: string, ownerId: string, list: List<Row>): AsyncGenerator<Row[], void> {
    const { start, positionOf } = list;
    for (let position: readonly Parameter[] | undefined = start; position;) {
      await this.checkStillAllowed(userId);
      const rows: Row[] = await this.page(list, ownerId, position);
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
    const isAllowed = await this.users.existsBy({ id: userId, suspendedAt: IsNull() });
    if (!isAllowed) throw new Unauthorized();
  }

  private async page<Row>(
    { read, bounds = [] }: List<Row>,
    ownerId: string,
    position: readonly Parameter[],
  ): Promise<Row[]> {
    if (typeof read !== 'function')
      return this.database.run<Row>(read, [ownerId, ...position, ...bounds, PAGE]);
    return (await read(this.database.dataSource.manager, ownerId, position, PAGE)) as Row[];
  }
}
