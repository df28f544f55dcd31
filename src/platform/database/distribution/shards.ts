import type { Pool } from 'pg';

/** The SQLSTATE raised by `shard_is_here` and `hold_shard`. */
export const NOT_HERE = 'CS001';

/** The shard was not on the expected node; the statement had no effect. */
export class ShardElsewhere extends Error {
  readonly code = NOT_HERE;
}

/** The shard of a workspace: the tables that hold its rows, on one node. */
export interface Shard {
  /** The id of the shard of `workspaces`, by which the engine locks and finds it. */
  readonly id: string;
  readonly host: string;
  readonly port: number;
  /** `host:port`. */
  readonly node: string;
  /** The name of each table on the node, by its name in statements. */
  readonly tables: ReadonlyMap<string, string>;
}

/** Minimum interval between reads from the coordinator that failed connections to a node cause. */
const FORGET_EVERY_MS = 1_000;

/** Beyond this, all entries are dropped, and each workspace costs the coordinator one statement again. */
const MAX_WORKSPACES = 100_000;

const shardOf = {
  name: 'distribution.shard_of',
  text: `SELECT get_shard_id_for_distribution_column('workspaces', $1::text)::text AS id`,
};

/** The tables of a shard have the same hash range. */
const allShards = `
  WITH root AS (
    SELECT s.shardid, s.shardminvalue, n.nodename, n.nodeport, d.colocationid
    FROM pg_dist_shard s
    JOIN pg_dist_partition d USING (logicalrelid)
    JOIN pg_dist_placement p ON p.shardid = s.shardid
    JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'
    WHERE s.logicalrelid = 'workspaces'::regclass
  )
  SELECT root.shardid::text AS id, nodename AS host, nodeport AS port,
         array_agg(c.relname::text) AS tables, array_agg(c.relname || '_' || s.shardid) AS names
  FROM root
  JOIN pg_dist_partition d ON d.colocationid = root.colocationid
  JOIN pg_dist_shard s ON s.logicalrelid = d.logicalrelid AND s.shardminvalue = root.shardminvalue
  JOIN pg_class c ON c.oid = d.logicalrelid
  GROUP BY 1, 2, 3`;

interface Row extends Pick<Shard, 'id' | 'host' | 'port'> {
  readonly tables: readonly string[];
  readonly names: readonly string[];
}

/** Maps workspaces to shards and nodes, according to the engine's catalog. */
export class Shards {
  private placesForgottenAt = -Infinity;
  /** `forget` replaces the map, so that the answer to an earlier query is not stored in the new one. */
  private idOf = new Map<string, string>();
  private known: Promise<Map<string, Shard>> | undefined;
  /** The value of `known` once it has resolved. */
  private places: Map<string, Shard> | undefined;

  /** @param coordinator the pool of the coordinator */
  constructor(private readonly coordinator: Pool) {}

  /** The shard of a workspace, whether or not the workspace exists. */
  async of(workspaceId: string): Promise<Shard> {
    const known = (await this.placed()).get(await this.shardId(workspaceId));
    if (known) return known;
    this.forget(); // the shard was split or merged
    return this.withId(await this.shardId(workspaceId));
  }

  /** @throws ShardElsewhere when the engine no longer has the shard */
  async withId(id: string): Promise<Shard> {
    const shard = (await this.placed()).get(id);
    if (!shard) throw new ShardElsewhere(`the engine has no shard ${id}`);
    return shard;
  }

  /** Like `of`, but only from memory; undefined if unknown. */
  knownOf(workspaceId: string): Shard | undefined {
    return this.places?.get(this.idOf.get(workspaceId) ?? '');
  }

  async all(): Promise<Shard[]> {
    return [...(await this.placed()).values()];
  }

  /** Call this when a shard has moved or was split: the next lookup reads the catalog again. */
  forget(): void {
    this.idOf = new Map();
    this.known = this.places = undefined;
  }

  /**
   * Call this when a node does not answer: another one may have taken over its shards. `knownOf` keeps answering from the old
   * places until the next read.
   */
  forgetPlaces(): void {
    const now = performance.now();
    if (now - this.placesForgottenAt < FORGET_EVERY_MS) return;
    this.placesForgottenAt = now;
    this.known = undefined;
  }

  private async shardId(workspaceId: string): Promise<string> {
    const { idOf } = this;
    const known = idOf.get(workspaceId);
    if (known !== undefined) return known;
    const { rows } = await this.coordinator.query<{ id: string }>({ ...shardOf, values: [workspaceId] });
    const id = rows[0]?.id ?? '';
    if (idOf.size >= MAX_WORKSPACES) idOf.clear();
    idOf.set(workspaceId, id);
    return id;
  }

  private async placed(): Promise<Map<string, Shard>> {
    const asked = (this.known ??= this.read());
    const places = await asked;
    if (this.known === asked) this.places = places; // otherwise they were forgotten in the meantime
    return places;
  }

  private async read(): Promise<Map<string, Shard>> {
    try {
      const { rows } = await this.coordinator.query<Row>(allShards);
      return new Map(rows.map((row) => [row.id, shardIn(row)]));
    } catch (error) {
      this.known = undefined;
      throw error;
    }
  }
}

const shardIn = ({ tables, names, ...place }: Row): Shard => ({
  ...place,
  node: `${place.host}:${place.port}`,
  tables: new Map(tables.map((table, index) => [table, names[index] ?? table])),
});
