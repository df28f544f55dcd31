import { isIPv6 } from 'node:net';
import pg from 'pg';
import { connecting, DatabaseClient } from '../database-server.js';
import { filled, type Statement, type Text } from '../statement.js';
import { beginNodeSession } from '../session.js';
import type { StoredFunctions } from '../migrate.js';
import type { Shard } from './shards.js';

type OnNode = Pick<Shard, 'host' | 'port' | 'node'>;

export interface NodePoolSettings {
  /** The pool of the coordinator; the pools of the nodes copy its options. */
  readonly coordinator: pg.Pool;
  /** The URL of the coordinator. */
  readonly url: string;
  /** Created for each shard on each connection that uses them. */
  readonly functions: readonly StoredFunctions[];
  readonly onPoolError: (error: unknown) => void;
}

/** A connection pool per node, and the shard functions that exist on each connection. */
export class NodePools {
  private readonly pools = new Map<string, pg.Pool>();
  /** The shards whose functions exist on a connection. */
  private readonly prepared = new WeakMap<pg.PoolClient, Set<string>>();

  constructor(private readonly settings: NodePoolSettings) {}

  of(place: OnNode): pg.Pool {
    const pool = this.pools.get(place.node) ?? this.create(place);
    this.pools.set(place.node, pool);
    return pool;
  }

  async end(): Promise<void> {
    await Promise.all([...this.pools.values()].map((pool) => pool.end()));
  }

  /** Returns a statement for the tables and functions of a shard; creates the functions on the connection if it lacks them. */
  async textOn(client: pg.PoolClient, shard: Shard, { name, template, isBinary }: Statement): Promise<Text> {
    const functions: string[] = [];
    const text = filled(template, (name) => {
      const table = shard.tables.get(name);
      if (table === undefined) functions.push(name);
      return table ?? functionOf(name, shard);
    });
    if (functions.length > 0) await this.createFunctions(client, shard);
    return { name: `${name} ${shard.id}`, text, isBinary };
  }

  /** Each function holds the shard first: a move waits for its transaction, or has happened and the function fails. */
  private async createFunctions(client: pg.PoolClient, shard: Shard): Promise<void> {
    const known = this.prepared.get(client) ?? new Set();
    this.prepared.set(client, known);
    if (known.has(shard.id)) return;
    const nameOf = (name: string): string =>
      name === 'hold_shard'
        ? `PERFORM hold_shard(${shard.id});`
        : (shard.tables.get(name) ?? functionOf(name, shard));
    await client.query(this.settings.functions.map(({ template }) => filled(template, nameOf)).join('; '));
    known.add(shard.id);
  }

  private create({ host, port }: OnNode): pg.Pool {
    const { options } = this.settings.coordinator as unknown as { options: pg.PoolConfig };
    const url = new URL(this.settings.url);
    url.searchParams.delete('host'); // a socket directory would override the node's host
    url.searchParams.delete('port');
    url.hostname = isIPv6(host) ? `[${host}]` : host; // an IPv6 address without brackets is ignored
    url.port = String(port);
    const onConnect = (client: pg.ClientBase): Promise<void> => connecting(() => beginNodeSession(client));
    // The pool waits for the promise; its types do not say so.
    const ownConfig = { connectionString: url.href, Client: DatabaseClient, pipeline: true, onConnect };
    const config: object = { ...options, ...ownConfig };
    const pool = new pg.Pool(config);
    pool.on('error', (error) => this.settings.onPoolError(error));
    // A connection in use emits this in addition to the rejection of its statement; without a listener the process would end.
    pool.on('connect', (client) => client.on('error', () => undefined));
    return pool;
  }
}

/** A temporary function, which disappears with the connection. */
const functionOf = (name: string, { id }: Shard): string => `pg_temp.${name}_${id}`;
