import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import {
  type EntityManager,
  type EntityTarget,
  type FindOptionsOrder,
  type FindOptionsSelect,
  type FindOptionsWhere,
  IsNull,
  MoreThan,
  type ObjectLiteral,
  Repository,
} from 'typeorm';
import {
  BEFORE_ALL_IDS,
  Database,
  type Parameter,
  type Statement,
} from '../../../platform/database/index.js';
import { Unauthorized } from '../../../platform/http/index.js';
import { KillSwitch } from '../../../platform/kill-switch.js';
import { AuditEventEntity } from '../../auth/audit/index.js';
import { AccessToken, AuthSession, KnownNetwork, UserEntity } from '../../auth/index.js';
import { PaymentEventEntity } from '../../billing/index.js';
import { Device } from '../../devices/index.js';
import { MailNotice } from '../notices/index.js';
import { type Entry, linesEntry } from './archive.js';
import { exportStatements } from './export.queries.js';

/** Rows read at a time: each page is a statement of its own, so no transaction stays open. */
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
  /** A statement takes the owner's id, the position, `bounds` and the number of rows. */
  readonly read: ReadPage | Statement;
  /** The position before the first row. */
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
   * @param userId the user whose export this is
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

/** An exported row: values by their exported names, in that order. */
type Exported = Readonly<Record<string, unknown>>;

/** Which columns of a table are exported, and in which order its rows are read. */
interface Columns<E> {
  readonly owner: 'userId' | 'workspaceId';
  /** Orders the rows. There is an index on owner and key. */
  readonly key: keyof E & string;
  /** Below all keys; ids by default. */
  readonly start?: string | number;
  /** In the order of the export, including the key; a pair begins with the exported name, where that differs. */
  readonly columns: readonly ((keyof E & string) | readonly [name: string, column: keyof E & string])[];
  /** Changes values before they are exported. */
  readonly finished?: (row: Exported) => Exported;
}

/** A list of the rows of one table in the order of one column. */
export function rowsOf<E extends ObjectLiteral>(
  entity: EntityTarget<E>,
  { owner, key, start = BEFORE_ALL_IDS, columns, finished = (row) => row }: Columns<E>,
): List<Exported> {
  const named = columns.map((column) => (typeof column === 'string' ? ([column, column] as const) : column));
  const select = Object.fromEntries(named.map(([, column]) => [column, true])) as FindOptionsSelect<E>;
  const order = { [key]: 'ASC' } as FindOptionsOrder<E>;
  const exported = (row: E): Exported =>
    finished(Object.fromEntries(named.map(([name, column]) => [name, row[column]])));
  const nameOfKey = named.find(([, column]) => column === key)?.[0] ?? key;
  return {
    read: async (manager, ownerId, [above], take) => {
      const where = { [owner]: ownerId, [key]: MoreThan(above) } as FindOptionsWhere<E>;
      return (await manager.getRepository(entity).find({ select, where, order, take })).map(exported);
    },
    start: [start],
    positionOf: (row) => [row[nameOfKey] as string | number],
  };
}

const ofUser = { owner: 'userId', key: 'id' } as const;

const devices = rowsOf(Device, {
  ...ofUser,
  columns: ['id', 'name', 'platform', 'createdAt', 'lastSeenAt'],
});

const tokens = rowsOf(AccessToken, {
  ...ofUser,
  columns: ['id', 'name', 'scopes', 'workspaceId', 'createdAt', 'lastUsedAt', 'expiresAt', 'revokedAt'],
});

const sessions = rowsOf(AuthSession, {
  ...ofUser,
  columns: ['id', ['ip', 'ipAddress'], 'userAgent', 'createdAt', 'updatedAt', 'confirmedAt', 'expiresAt'],
});

const keySessions: List<{ id: string }> = {
  read: exportStatements.keySessions,
  start: [BEFORE_ALL_IDS],
  positionOf: ({ id }) => [id],
};

const networks = rowsOf(KnownNetwork, {
  owner: 'userId',
  key: 'network',
  start: '',
  columns: ['network', 'lastSeenAt'],
});

const notices: List<Pick<MailNotice, 'notice' | 'about'>> = {
  read: async (manager, userId, [notice, about], take) => {
    const above = [
      { userId, notice, about: MoreThan(about) },
      { userId, notice: MoreThan(notice) },
    ] as FindOptionsWhere<MailNotice>[];
    const order = { notice: 'ASC', about: 'ASC' } as const;
    const rows = await manager.getRepository(MailNotice).find({ where: above, order, take });
    return rows.map((row) => ({ notice: row.notice, about: row.about }));
  },
  start: ['', new Date(0)],
  positionOf: ({ notice, about }) => [notice, about],
};

const payments = rowsOf(PaymentEventEntity, {
  owner: 'userId',
  key: 'eventId',
  start: '',
  columns: [
    ['id', 'eventId'],
    'subscriptionId',
    'kind',
    'cause',
    'terms',
    'fate',
    'occurredAt',
    'receivedAt',
  ],
});

const audit = rowsOf(AuditEventEntity, {
  ...ofUser,
  start: 0,
  columns: ['id', 'at', 'action', 'actor', 'ip', 'userAgent', 'details'],
  // Without the client of an operator or administrator.
  finished: (row) => (row['actor'] === 'user' ? row : { ...row, ip: null, userAgent: null }),
});

/** The lists of an account, in the order of the export. */
export const ACCOUNT_LISTS: readonly [string, List<never>][] = [
  ['devices', devices],
  ['tokens', tokens],
  ['sessions', sessions],
  ['key-sessions', keySessions],
  ['networks', networks],
  ['notices', notices],
  ['payments', payments],
  ['audit', audit],
];
