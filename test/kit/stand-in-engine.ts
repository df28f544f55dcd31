import pg from 'pg';
import { STEPS } from '../../src/platform/database/distribution/distribute.js';
import { DISTRIBUTED_TABLES, knownStatements } from '../../src/platform/database/index.js';
import { DatabaseLink, type DatabaseWeather } from './database-link.js';
import { createDatabase, type TestDatabase } from './database.js';

/** The engine's first shard id. */
const FIRST_SHARD = 102_008;
/** The first range has the workspaces whose last eight digits are a negative number, the second the others. */
const RANGES = [
  [-2_147_483_648, -1],
  [0, 2_147_483_647],
] as const;

/** The parts of the engine's catalogue that the service uses, on every node, with the engine's names and types. */
const CATALOGUE = `
  CREATE TABLE pg_catalog.pg_dist_node (
    groupid int PRIMARY KEY, nodename text, nodeport int, noderole text DEFAULT 'primary');
  CREATE TABLE pg_catalog.pg_dist_local_group (groupid int);
  CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char", colocationid int);
  CREATE TABLE pg_catalog.pg_dist_shard (
    shardid bigint, logicalrelid regclass, shardminvalue text, shardmaxvalue text);
  CREATE TABLE pg_catalog.pg_dist_placement (shardid bigint, groupid int);
  CREATE FUNCTION pg_catalog.get_shard_id_for_distribution_column(asked regclass, value text) RETURNS bigint
    STABLE LANGUAGE sql AS $$
      SELECT shardid FROM pg_dist_shard WHERE logicalrelid = asked
        AND ('x' || right(value, 8))::bit(32)::int BETWEEN shardminvalue::int AND shardmaxvalue::int $$;
  CREATE FUNCTION pg_catalog.lock_shard_metadata(mode int, shards bigint[]) RETURNS void
    LANGUAGE sql AS $$ SELECT pg_advisory_xact_lock_shared(shard) FROM unnest(shards) AS shard $$;`;

/** The steps of `npm run distribute` that need no engine. */
const OF_DISTRIBUTE = STEPS.filter(({ sentence }) =>
  /^(?:Drop the foreign key|Create the functions)/.test(sentence),
);

/** The columns of a table that can be written. */
const COLUMNS = `
  SELECT string_agg(attname, ',') AS all FROM pg_attribute
  WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`;

const TABLES = DISTRIBUTED_TABLES.map(({ table }) => table).join('|');
const NAMES_TABLE = new RegExp(`\\b(?:FROM|JOIN|UPDATE|INTO) "?(?:${TABLES})\\b`);

/** Whether the coordinator needs its nodes for a statement. @param asked its name or its SQL */
function needsNodes(asked: string): boolean {
  const known = knownStatements().find(({ name }) => name === asked);
  return NAMES_TABLE.test(known?.onNodes ?? asked);
}

/** A database with its own address. */
export class StandInNode {
  /** The statements received: the name of a prepared one, otherwise the SQL. */
  seen: string[] = [];
  private weather: DatabaseWeather = () => undefined;

  private constructor(
    readonly group: number,
    readonly database: TestDatabase,
    readonly link: DatabaseLink,
  ) {
    link.set((statement) => {
      this.seen.push(statement);
      return this.weather(statement);
    });
  }

  static async create(group: number): Promise<StandInNode> {
    const database = await createDatabase();
    const node = new StandInNode(group, database, await DatabaseLink.asServerOf(database));
    await database.query(`BEGIN; SET LOCAL allow_system_table_mods = on; ${CATALOGUE} COMMIT`);
    await database.query('INSERT INTO pg_dist_local_group VALUES ($1)', [group]);
    for (const { sql } of OF_DISTRIBUTE) await database.query(sql);
    return node;
  }

  /** `host:port` */
  get key(): string {
    return `127.0.0.1:${this.link.port}`;
  }

  /** Sets the faults of statements from now on. */
  set(weather: DatabaseWeather = () => undefined): void {
    this.weather = weather;
  }

  /** The received statements whose name or text contains this. */
  sawOf(part: string): string[] {
    return this.seen.filter((statement) => statement.includes(part));
  }

  async close(): Promise<void> {
    await this.link.cut();
    await this.database.drop();
  }
}

/**
 * PostgreSQL databases in place of a coordinator and its nodes, with the engine's tables that the service reads and tables
 * of shards under the engine's names. The coordinator does not forward statements: it answers from its own tables.
 */
export class StandInEngine {
  private readonly groups = new Map<number, number>();

  private constructor(
    readonly coordinator: StandInNode,
    readonly nodes: readonly StandInNode[],
  ) {}

  /** The first two nodes have one of the two shards each. */
  static async create(nodes = 2): Promise<StandInEngine> {
    const all = await Promise.all(Array.from({ length: nodes + 1 }, (_, group) => StandInNode.create(group)));
    const [coordinator, ...others] = all as [StandInNode, ...StandInNode[]];
    const engine = new StandInEngine(coordinator, others);
    await Promise.all(all.map((node) => engine.describe(node)));
    for (const shard of RANGES.keys()) {
      engine.groups.set(shard, shard + 1);
      await engine.node(shard + 1).database.query(tablesOf(shard));
    }
    return engine;
  }

  /** @param number from 1 */
  node(number: number): StandInNode {
    return this.nodes[number - 1] as StandInNode;
  }

  /** The id of the shard of `workspaces`. */
  shardId(shard: number): number {
    return FIRST_SHARD + shard;
  }

  /** The n-th id of a workspace in a shard. */
  workspaceIn(shard: number, nth = 0): string {
    const digits = ((RANGES[shard]?.[0] ?? 0) >>> 0) + nth;
    return `01890000-0000-7000-8000-0000${digits.toString(16).padStart(8, '0')}`;
  }

  /** The name of a table of a shard on its node. */
  table(shard: number, name: string): string {
    return nameIn(shard, name);
  }

  /** The number of the shard that contains a workspace. */
  shardOf(workspaceId: string): number {
    const value = Number.parseInt(workspaceId.slice(-8), 16) | 0;
    return RANGES.findIndex(([least, most]) => value >= least && value <= most);
  }

  /**
   * Moves a shard like the engine: waits for writes that lock it, copies its rows, and places it on the other node. The old
   * tables stay for a moment, or are dropped.
   */
  async move(shard: number, to: number, { isDropped = false } = {}): Promise<void> {
    const [source, target] = [this.node(this.groups.get(shard) ?? 0), this.node(to)];
    const client = new pg.Client({ connectionString: source.database.url });
    await client.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT pg_advisory_xact_lock($1)', [this.shardId(shard)]);
      await target.database.query(dropOf(shard) + tablesOf(shard));
      for (const { table } of DISTRIBUTED_TABLES) {
        const name = nameIn(shard, table);
        const { rows } = await client.query<{ all: object[] | null }>(
          `SELECT json_agg(t) AS all FROM ${name} t`,
        );
        if (!rows[0]?.all) continue;
        const [columns] = (await client.query<{ all: string }>(COLUMNS, [name])).rows;
        const insert = `INSERT INTO ${name} (${columns?.all}) SELECT ${columns?.all} FROM json_populate_recordset(NULL::${name}, $1)`;
        await target.database.query(insert, [JSON.stringify(rows[0].all)]);
      }
      for (const { database } of [this.coordinator, ...this.nodes].filter((node) => node !== source))
        await database.query(place(shard, to));
      await client.query(place(shard, to));
      if (isDropped) await client.query(dropOf(shard));
      await client.query('COMMIT');
    } finally {
      await client.end();
    }
    this.groups.set(shard, to);
  }

  /** Copies a workspace's row from the coordinator to its node, as the engine does on creation. */
  async adopt(workspaceId: string): Promise<void> {
    const shard = this.shardOf(workspaceId);
    const { database } = this.node(this.groups.get(shard) ?? 0);
    const ask = 'SELECT to_json(w) AS row FROM workspaces w WHERE id = $1';
    const [found] = await this.coordinator.database.query<{ row: object }>(ask, [workspaceId]);
    const name = nameIn(shard, 'workspaces');
    await database.query(`INSERT INTO ${name} SELECT * FROM json_populate_record(NULL::${name}, $1)`, [
      found?.row,
    ]);
  }

  /** Restores the initial places of all shards, empties them, and makes every node reachable. */
  async reset(): Promise<void> {
    const all = [this.coordinator, ...this.nodes];
    for (const node of all) {
      node.set();
      node.link.revive();
      await node.link.cut();
      await node.link.mend();
      node.seen = [];
    }
    const { query } = this.coordinator.database;
    for (const { group, link } of all) await this.setPort(group, link.port);
    await query('DELETE FROM workspaces');
    for (const shard of RANGES.keys()) {
      if (this.groups.get(shard) !== shard + 1) await this.move(shard, shard + 1);
      for (const { database, group } of this.nodes)
        await database.query(group === shard + 1 ? emptied(shard) : dropOf(shard));
    }
  }

  /** Makes a node unreachable: the coordinator reports that for statements that need its shards, in the engine's words. */
  async lose(number: number): Promise<void> {
    const { key, link } = this.node(number);
    await link.cut();
    const message = `connection to the remote node sync@${key} failed with the following error: Connection refused`;
    this.coordinator.set((statement) =>
      needsNodes(statement) ? { kind: 'refuse', code: '08006', message } : undefined,
    );
  }

  /** Replaces a node by a standby with its own address, which takes over its shards. @returns its link, which the caller cuts */
  async replace(number: number): Promise<DatabaseLink> {
    const { group, database } = this.node(number);
    const link = await DatabaseLink.asServerOf(database);
    this.coordinator.set();
    await this.setPort(group, link.port);
    return link;
  }

  async close(): Promise<void> {
    await Promise.all([this.coordinator, ...this.nodes].map((node) => node.close()));
  }

  /** Changes it in the coordinator's tables. */
  private setPort(group: number, port: number): Promise<unknown[]> {
    const set = 'UPDATE pg_dist_node SET nodeport = $2 WHERE groupid = $1';
    return this.coordinator.database.query(set, [group, port]);
  }

  private async describe({ database }: StandInNode): Promise<void> {
    for (const { group, link } of [this.coordinator, ...this.nodes])
      await database.query(`INSERT INTO pg_dist_node VALUES ($1, '127.0.0.1', $2)`, [group, link.port]);
    await database.query(`INSERT INTO pg_dist_partition VALUES ('shared_commits', 'n', 0)`);
    for (const [index, { table }] of DISTRIBUTED_TABLES.entries()) {
      await database.query(`INSERT INTO pg_dist_partition VALUES ($1, 'h', 1)`, [table]);
      for (const [shard, [least, most]] of RANGES.entries()) {
        const id = FIRST_SHARD + index * RANGES.length + shard;
        await database.query('INSERT INTO pg_dist_shard VALUES ($1, $2, $3, $4)', [id, table, least, most]);
        await database.query('INSERT INTO pg_dist_placement VALUES ($1, $2)', [id, shard + 1]);
      }
    }
  }
}

const idsOf = (shard: number): number[] =>
  DISTRIBUTED_TABLES.map((_, index) => FIRST_SHARD + index * RANGES.length + shard);

const nameIn = (shard: number, table: string): string =>
  `${table}_${idsOf(shard)[DISTRIBUTED_TABLES.findIndex((one) => one.table === table)]}`;

/** SQL for the tables of a shard. */
const tablesOf = (shard: number): string =>
  DISTRIBUTED_TABLES.map(
    ({ table }) => `CREATE TABLE ${nameIn(shard, table)} (LIKE ${table} INCLUDING ALL);`,
  ).join('');

const dropOf = (shard: number): string =>
  `DROP TABLE IF EXISTS ${DISTRIBUTED_TABLES.map(({ table }) => nameIn(shard, table)).join()};`;

const emptied = (shard: number): string =>
  DISTRIBUTED_TABLES.map(({ table }) => `DELETE FROM ${nameIn(shard, table)};`).join('');

const place = (shard: number, group: number): string =>
  `UPDATE pg_dist_placement SET groupid = ${group} WHERE shardid IN (${idsOf(shard).join()});`;
