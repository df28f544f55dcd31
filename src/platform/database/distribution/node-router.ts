import pg from 'pg';
import { connecting, DatabaseClient, isFailedConnect } from '../database-client.js';
import { sqlState } from '../database-errors.js';
import { beginNodeSession } from '../session.js';
import type { Parameter, Statement } from '../statement.js';
import { FUNCTION_DEFINITIONS, NOT_HERE, shardFunction, shardStatement } from './shard-text.js';
import { type Shard, Shards } from './shards.js';

/** Once for the move of a shard, once more for one that moves on. */
const ATTEMPTS = 3;
/** The table of a shard that was moved away is dropped soon after. */
const MOVED = new Set([NOT_HERE, '42P01']);

export interface NodeRouterSettings {
  /** The pool of the coordinator; those of the nodes are made like it. */
  readonly coordinator: pg.Pool;
  /** The URL of the coordinator. */
  readonly url: string;
  readonly onPoolError: (error: unknown) => void;
}

/**
 * Sends statements of one workspace to the node that has it, straight to the tables of its shard: the engine's planner would
 * take several times the work of the statement itself.
 */
export class NodeRouter {
  private readonly shards: Shards;
  private readonly pools = new Map<string, pg.Pool>();
  private functions: string[] = [];
  /** The shards whose functions a connection has. */
  private readonly prepared = new WeakMap<pg.PoolClient, Set<string>>();

  constructor(private readonly settings: NodeRouterSettings) {
    this.shards = new Shards(settings.coordinator);
  }

  /**
   * @param values the first is the workspace
   * @returns undefined when the node cannot be found or reached: nothing was sent to it then
   */
  async run(statement: Statement, values: readonly Parameter[]): Promise<unknown[] | undefined> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const shard = await this.shards.of(String(values[0]));
      if (!shard) return undefined;
      try {
        return await this.runOn(shard, statement, values);
      } catch (error) {
        const isAway = isFailedConnect(error as object);
        if (!isAway && !MOVED.has(sqlState(error) ?? '')) throw error;
        this.shards.forget();
        if (isAway) return undefined;
      }
    }
    return undefined;
  }

  /** One for each node that has shards. */
  async nodePools(): Promise<pg.Pool[]> {
    return [...new Set((await this.shards.all()).map((shard) => this.poolOf(shard)))];
  }

  /** Open connections to the nodes. */
  get connections(): number {
    return [...this.pools.values()].reduce((sum, { totalCount }) => sum + totalCount, 0);
  }

  async end(): Promise<void> {
    await Promise.all([...this.pools.values()].map((pool) => pool.end()));
  }

  private async runOn(
    shard: Shard,
    { name, text, onShard = text }: Statement,
    values: readonly Parameter[],
  ): Promise<unknown[]> {
    const client = await this.poolOf(shard).connect();
    let failure: Error | undefined;
    try {
      if (onShard.includes('put_documents(')) await this.createFunctions(client, shard);
      const query = {
        name: `${name} ${shard.id}`,
        text: shardStatement(onShard, shard),
        values: [...values],
      };
      return (await client.query(query)).rows as unknown[];
    } catch (error) {
      // A connection that has met a moved shard has plans and functions for it.
      if (sqlState(error) === undefined || MOVED.has(sqlState(error) ?? '')) failure = error as Error;
      throw error;
    } finally {
      client.release(failure);
    }
  }

  private async createFunctions(client: pg.PoolClient, shard: Shard): Promise<void> {
    const known = this.prepared.get(client) ?? new Set();
    this.prepared.set(client, known);
    if (known.has(shard.id)) return;
    const definitions = await this.definitions();
    await client.query(definitions.map((definition) => shardFunction(definition, shard)).join('; '));
    known.add(shard.id);
  }

  /** As of the start: a migration that replaces them is made for instances of the version before, too. */
  private async definitions(): Promise<string[]> {
    if (this.functions.length > 0) return this.functions;
    const { rows } = await this.settings.coordinator.query<{ definition: string }>(FUNCTION_DEFINITIONS);
    return (this.functions = rows.map(({ definition }) => definition));
  }

  private poolOf({ node: { host, port } }: Shard): pg.Pool {
    const key = `${host}:${port}`;
    const known = this.pools.get(key);
    if (known) return known;
    const { options } = this.settings.coordinator as unknown as { options: pg.PoolConfig };
    const url = new URL(this.settings.url);
    url.searchParams.delete('host'); // of a socket: it would replace the node's
    url.searchParams.delete('port');
    url.hostname = host;
    url.port = String(port);
    const onConnect = (client: pg.ClientBase): Promise<void> => connecting(() => beginNodeSession(client));
    // The pool waits for the promise; its types do not say so.
    const config: object = { ...options, connectionString: url.href, Client: DatabaseClient, onConnect };
    const pool = new pg.Pool(config);
    pool.on('error', (error) => this.settings.onPoolError(error));
    // The pool does not listen while a connection is lent; an error between two statements would end the process.
    pool.on('connect', (client) => client.on('error', () => undefined));
    this.pools.set(key, pool);
    return pool;
  }
}
