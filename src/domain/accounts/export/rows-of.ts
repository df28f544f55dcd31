import {
  type EntityTarget,
  type FindOptionsOrder,
  type FindOptionsSelect,
  type FindOptionsWhere,
  MoreThan,
  type ObjectLiteral,
} from 'typeorm';
import { BEFORE_ALL_IDS } from '../../../platform/database/index.js';
import type { List } from './export-lists.js';

/** A row as it is exported: the values by the names that they have there, in that order. */
type Exported = Readonly<Record<string, unknown>>;

/** Which columns of a table are exported, and in which order its rows are read. */
interface Columns<E> {
  readonly owner: 'userId' | 'workspaceId';
  /** Rows are in its order. There is an index on owner and key. */
  readonly key: keyof E & string;
  /** Below all keys; ids by default. */
  readonly start?: string | number;
  /** In the order of the export, the key among them; with a name before it where that differs. */
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
