import { isIPv6 } from 'node:net';
import pg from 'pg';
import { connecting, DatabaseClient } from '../database-client.js';
import { beginNodeSession } from '../session.js';
import { FUNCTION_DEFINITIONS, shardFunction } from './shard-text.js';
import type { Shard } from './shards.js';

type OnNode = Pick<Shard, 'node'>;

/** A node as `host:port`. */
export const keyOf = ({ node: { host, port } }: OnNode): string => `${host}:${port}`;

export interface NodePoolSettings {
  /** The pool of the coordinator; those of the nodes are made like it. */
  readonly coordinator: pg.Pool;
  /** The URL of the coordinator. */
  readonly url: string;
  readonly onPoolError: (error: unknown) => void;
}

/** A pool of connections for each node, and the functions of shards that these connections have. */
export class NodePools {
  private readonly pools = new Map<string, pg.Pool>();
  /** The shards whose functions a connection has. */
  private readonly prepared = new WeakMap<pg.PoolClient, Set<string>>();
  private functions: string[] = [];

  constructor(private readonly settings: NodePoolSettings) {}

  of(place: OnNode): pg.Pool {
    const key = keyOf(place);
    const pool = this.pools.get(key) ?? this.create(place);
    this.pools.set(key, pool);
    return pool;
  }

  /** Open connections. */
  get connections(): number {
    return [...this.pools.values()].reduce((sum, { totalCount }) => sum + totalCount, 0);
  }

  async end(): Promise<void> {
    await Promise.all([...this.pools.values()].map((pool) => pool.end()));
  }

  /** Creates the functions that read and write the tables of a shard, once for each connection. */
  async createFunctions(client: pg.PoolClient, shard: Shard): Promise<void> {
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

  private create({ node: { host, port } }: OnNode): pg.Pool {
    const { options } = this.settings.coordinator as unknown as { options: pg.PoolConfig };
    const url = new URL(this.settings.url);
    url.searchParams.delete('host'); // of a socket: it would replace the node's
    url.searchParams.delete('port');
    url.hostname = isIPv6(host) ? `[${host}]` : host; // one without brackets is ignored
    url.port = String(port);
    const onConnect = (client: pg.ClientBase): Promise<void> => connecting(() => beginNodeSession(client));
    // The pool waits for the promise; its types do not say so.
    const ownConfig = { connectionString: url.href, Client: DatabaseClient, pipeline: true, onConnect };
    const config: object = { ...options, ...ownConfig };
    const pool = new pg.Pool(config);
    pool.on('error', (error) => this.settings.onPoolError(error));
    // A connection in use emits this beside the rejection of its statement; without a listener the process would end.
    pool.on('connect', (client) => client.on('error', () => undefined));
    return pool;
  }
}
