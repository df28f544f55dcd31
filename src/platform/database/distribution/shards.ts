import type { Pool } from 'pg';

/** The shard of a workspace: the tables that hold its rows, on one node. */
export interface Shard {
  /** The id of the shard of `workspaces`, by which the engine locks and finds it. */
  readonly id: string;
  readonly node: { readonly host: string; readonly port: number };
  /** The name of each table on the node, by its name in statements. */
  readonly tables: ReadonlyMap<string, string>;
}

/** Beyond this, all are forgotten, and each costs the coordinator one statement again. */
const MAX_WORKSPACES = 100_000;

const shardOf = {
  name: 'distribution.shard_of',
  text: `SELECT get_shard_id_for_distribution_column('workspaces', $1::text)::text AS id`,
};

/** Tables of one shard have the same range of hashes. */
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

interface Row {
  readonly id: string;
  readonly host: string;
  readonly port: number;
  readonly tables: readonly string[];
  readonly names: readonly string[];
}

/** Which node has which workspace, as the engine's own tables say. */
export class Shards {
  /** Replaced when it is forgotten: an answer that was asked for before is not kept after. */
  private idOf = new Map<string, string>();
  private known: Promise<Map<string, Shard>> | undefined;
  /** What `known` has resolved with. */
  private places: Map<string, Shard> | undefined;

  /** @param coordinator the pool of the coordinator */
  constructor(private readonly coordinator: Pool) {}

  /** @returns undefined when the engine knows no shard or node for the workspace */
  async of(workspaceId: string): Promise<Shard | undefined> {
    const shards = await this.placed();
    return shards.get(await this.shardId(workspaceId));
  }

  /** As `of`, if that is known already. */
  knownOf(workspaceId: string): Shard | undefined {
    return this.places?.get(this.idOf.get(workspaceId) ?? '');
  }

  /** All shards of the engine. */
  async all(): Promise<Shard[]> {
    return [...(await this.placed()).values()];
  }

  /** After a shard has moved or was split: the next call reads the tables again. */
  forget(): void {
    this.forgetPlaces();
    this.idOf = new Map();
  }

  /** After a node did not answer: its shards may have another address by now. */
  forgetPlaces(): void {
    this.known = undefined;
    this.places = undefined;
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
    if (this.known === asked) this.places = places; // else they were forgotten meanwhile
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

const shardIn = ({ id, host, port, tables, names }: Row): Shard => ({
  id,
  node: { host, port },
  tables: new Map(tables.map((table, index) => [table, names[index] ?? table])),
});
