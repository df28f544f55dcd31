import type pg from 'pg';
import { isFailedConnect } from '../database-client.js';
import { isConnectionLost, NodeAway, sqlState } from '../database-errors.js';
import type { Parameter, Statement } from '../statement.js';
import { AwayNodes, nodeNamedIn } from './away-nodes.js';
import { keyOf, NodePools, type NodePoolSettings } from './node-pools.js';
import { NOT_HERE, onShard as onTables, shardStatement } from './shard-text.js';
import { type Shard, Shards } from './shards.js';

/** An open transaction on a node, to be ended and released by its owner. */
export interface NodeTransaction {
  readonly client: pg.PoolClient;
  readonly run: (statement: Statement, values: readonly Parameter[]) => Promise<unknown[]>;
  /** Keeps that an error is of the node; for those of COMMIT, which the owner sends. @returns the error */
  readonly from: (error: unknown) => unknown;
}

/** Workspaces, put together by the node that has them. */
export interface ByNode {
  readonly groups: readonly (readonly string[])[];
  /** Workspaces of nodes that are known to be away. They are in no group. */
  readonly away: readonly string[];
}

/** The rows that a statement returned for workspaces of one shard, and the places of these workspaces. */
export interface ShardRows<Row = unknown> {
  readonly places: readonly number[];
  readonly rows: readonly Row[];
}

interface Asked {
  readonly shard: Shard;
  readonly places: readonly number[];
}

/** How long a transaction of several workspaces waits for a lock, in ms: the others wait with it. */
const SHORT_WAIT_MS = 50;

/** A node that this process cannot reach, while the coordinator can, is tried again after this. */
const DIRECT_AGAIN_MS = 2_000;

/** Once for the move of a shard, once more for one that moves on. */
const ATTEMPTS = 3;
/** The table of a shard that was moved away is dropped soon after. */
const MOVED = new Set([NOT_HERE, '42P01']);
/** With these a server ends the connection. The severity is in its language. */
const ENDS_CONNECTION = /^(?:08|57P|25P0[34])/;
/** The code of each statement that follows the failed one in a transaction. */
const ABORTED = '25P02';

export interface NodeRouterSettings extends NodePoolSettings {
  /** Called when a node stops answering the coordinator, and when it answers again or has been replaced. */
  readonly onChange: (node: string, isAway: boolean) => void;
  /** Called when work on all parts begins to leave out a node that this process does not reach, and when it reaches it. */
  readonly onMissed?: (node: string, isMissed: boolean) => void;
}

/**
 * Sends statements of one workspace to the node that has it, straight to the tables of its shard: the engine's planner would
 * take several times the work of the statement itself.
 */
export class NodeRouter {
  private readonly shards: Shards;
  private readonly pools: NodePools;

  /** The node that an error of one of its connections is from. */
  private readonly origins = new WeakMap<Error, string>();

  private readonly away: AwayNodes;
  /** The nodes that this process cannot reach by itself, and when it tries again, by `performance.now()`. */
  private readonly indirect = new Map<string, number>();

  /** Nodes whose parts were left out because this process did not reach them, and when it looks again. */
  private readonly missed = new Map<string, NodeJS.Timeout>();

  private readonly whenBack: (() => void)[] = [];
  private hasEnded = false;

  constructor(private readonly settings: NodeRouterSettings) {
    this.shards = new Shards(settings.coordinator);
    this.pools = new NodePools(settings);
    this.away = new AwayNodes(settings.coordinator, (node, isAway) => {
      this.shards.forgetPlaces(); // a standby may have taken over, under another address
      settings.onChange(node, isAway);
      if (!isAway) this.announceBack(node);
    });
  }

  /** Looks at the error of a statement that the coordinator has run: a node that it could not reach is away from now on. */
  note(error: unknown): void {
    this.away.note(error);
  }

  /** @throws NodeAway at once when the node of the workspace is known to be away: to try would hold a connection */
  async refuseAway(workspaceId: string): Promise<void> {
    if (!this.away.isAny) return;
    const shard = await this.shards.of(workspaceId);
    if (shard && this.away.has(keyOf(shard))) throw new NodeAway(keyOf(shard));
  }

  /** The node of a workspace as `host:port`, undefined when the engine does not know it. */
  async nodeOf(workspaceId: string): Promise<string | undefined> {
    const shard = await this.shards.of(workspaceId);
    return shard && keyOf(shard);
  }

  /** As `nodeOf`, if that is known already. */
  knownNodeOf(workspaceId: string): string | undefined {
    const shard = this.shards.knownOf(workspaceId);
    return shard && keyOf(shard);
  }

  async byNode(workspaceIds: readonly string[]): Promise<ByNode> {
    const groups = new Map<string, string[]>();
    const away: string[] = [];
    for (const id of workspaceIds) {
      const key = (await this.nodeOf(id)) ?? '';
      const group = groups.get(key);
      if (this.away.has(key)) away.push(id);
      else if (group) group.push(id);
      else groups.set(key, [id]);
    }
    return { groups: [...groups.values()], away };
  }

  /** @param work called whenever a node that was away, or was left out, answers again or has been replaced */
  onBack(work: () => void): void {
    this.whenBack.push(work);
  }

  /** One for each shard: begins a transaction on its tables. They throw NodeAway when the node cannot be reached. */
  async parts(): Promise<(() => Promise<NodeTransaction>)[]> {
    const shards = await this.shards.all();
    return shards.map((shard) => () => this.beginPart(shard));
  }

  /**
   * Begins a transaction on the tables of a workspace's shard, which stays where it is until the end.
   * @returns undefined when the node cannot be found or reached
   * @throws NodeAway when the coordinator cannot reach it either
   */
  async begin(workspaceId: string): Promise<NodeTransaction | undefined> {
    return this.onShardOf(workspaceId, (shard) => this.beginOn(shard));
  }

  /** Begins where the shard is, also when it has just moved. @throws NodeAway when that cannot be reached or found */
  private async beginPart(shard: Shard): Promise<NodeTransaction> {
    for (let place: Shard | undefined = shard, attempt = 1; place; attempt++) {
      const key = keyOf(place);
      if (this.away.has(key)) throw new NodeAway(key);
      if (this.isAvoided(key)) throw this.missing(key);
      try {
        return await this.beginOn(place);
      } catch (error) {
        if (isFailedConnect(error as object)) {
          this.avoid(place);
          throw this.missing(key, error);
        }
        if (attempt === ATTEMPTS) throw error;
        if (isConnectionLost(error)) continue; // one that was idle: nothing was done on it
        if (!MOVED.has(sqlState(error) ?? '')) throw error;
        this.shards.forget();
        place = (await this.shards.all()).find(({ id }) => id === shard.id);
      }
    }
    throw new Error(`the shard ${shard.id} is no longer there`); // split or merged meanwhile
  }

  /** For a part that is left out because this process does not reach its node: `whenBack` is called when it does. */
  private missing(key: string, cause?: unknown): NodeAway {
    if (!this.missed.has(key)) {
      this.settings.onMissed?.(key, true);
      this.lookSoon(key);
    }
    return new NodeAway(key, cause);
  }

  private lookSoon(key: string): void {
    if (this.hasEnded) return;
    this.missed.set(
      key,
      setTimeout(() => void this.look(key), DIRECT_AGAIN_MS),
    );
  }

  private async look(key: string): Promise<void> {
    const isReached = await this.reaches(key).catch(() => false);
    if (this.away.has(key))
      this.missed.delete(key); // what knows that tells when it is back
    else if (isReached) {
      this.settings.onMissed?.(key, false);
      this.announceBack(key);
    } else {
      this.shards.forgetPlaces();
      this.lookSoon(key);
    }
  }

  /** Also true for a node that has no shards any more. */
  private async reaches(key: string): Promise<boolean> {
    const place = (await this.shards.all()).find((shard) => keyOf(shard) === key);
    if (place) await this.pools.of(place).query('SELECT 1');
    return true;
  }

  private announceBack(key: string): void {
    clearTimeout(this.missed.get(key));
    this.missed.delete(key);
    this.indirect.delete(key);
    for (const work of this.whenBack) work();
  }

  private async beginOn(shard: Shard): Promise<NodeTransaction> {
    const client = await this.pools.of(shard).connect();
    try {
      await client.query('BEGIN');
      await client.query(`SELECT hold_shard(${shard.id})`);
    } catch (error) {
      client.release(error as Error);
      throw this.from(shard, error);
    }
    const run = async (
      { name, text, onShard = text, onPart = onShard }: Statement,
      values: readonly Parameter[],
    ): Promise<unknown[]> => {
      // `run` wraps the same statement in another text.
      const query = { name: `${name} in ${shard.id}`, text: onTables(onPart, shard), values: [...values] };
      try {
        return (await client.query(query)).rows as unknown[];
      } catch (error) {
        throw this.from(shard, error);
      }
    };
    return { client, run, from: (error) => this.from(shard, error) };
  }

  /** The shard of a workspace, unless its node cannot be found, or was not reached a moment ago. @throws NodeAway */
  private async reachable(workspaceId: string): Promise<Shard | undefined> {
    const shard = await this.shards.of(workspaceId);
    if (!shard) return undefined;
    const key = keyOf(shard);
    if (this.away.has(key)) throw new NodeAway(key);
    return this.isAvoided(key) ? undefined : shard;
  }

  /** Whether this process did not reach a node a moment ago. */
  private isAvoided(key: string): boolean {
    return (this.indirect.get(key) ?? 0) > performance.now();
  }

  private avoid(shard: Shard): void {
    this.shards.forgetPlaces();
    this.indirect.set(keyOf(shard), performance.now() + DIRECT_AGAIN_MS);
  }

  /**
   * @param values the first is the workspace
   * @returns undefined when the node cannot be found or reached: nothing was sent to it then
   * @throws NodeAway when the coordinator cannot reach it either
   */
  async run(statement: Statement, values: readonly Parameter[]): Promise<unknown[] | undefined> {
    return this.onShardOf(String(values[0]), (shard) => this.runOn(shard, statement, values));
  }

  /** @see Database.runOnOneNode */
  async runTogether(
    statement: Statement,
    workspaceIds: readonly string[],
    valuesOf: (places: readonly number[]) => readonly Parameter[],
  ): Promise<ShardRows[]> {
    const asked = await this.onOneNode(workspaceIds);
    const [first] = asked;
    if (!first) return [];
    try {
      return await this.runEach(statement, first.shard, asked, valuesOf);
    } catch (error) {
      if (isFailedConnect(error as object)) this.avoid(first.shard);
      else if (MOVED.has(sqlState(error) ?? '')) this.shards.forget();
      else throw error;
      return [];
    }
  }

  /** The places of workspaces by shard, for those shards that are on the node of the first one. */
  private async onOneNode(workspaceIds: readonly string[]): Promise<readonly Asked[]> {
    const byShard = new Map<string, { shard: Shard; places: number[] }>();
    let node: string | undefined;
    for (const [place, id] of workspaceIds.entries()) {
      const shard = await unlessAway(() => this.reachable(id));
      if (!shard || (node ??= keyOf(shard)) !== keyOf(shard)) continue;
      const known = byShard.get(shard.id);
      if (known) known.places.push(place);
      else byShard.set(shard.id, { shard, places: [place] });
    }
    return [...byShard.values()];
  }

  /** The statements and the commit are sent together: after an error the server ends all of it with a rollback. */
  private async runEach(
    { name, text, onPart = text }: Statement,
    { node }: Shard,
    asked: readonly Asked[],
    valuesOf: (places: readonly number[]) => readonly Parameter[],
  ): Promise<ShardRows[]> {
    const client = await this.pools.of({ node }).connect();
    let failure: Error | undefined;
    try {
      for (const { shard } of asked) await this.pools.createFunctions(client, shard);
      await client.query(`BEGIN; SET LOCAL lock_timeout = ${SHORT_WAIT_MS}`);
      const sent = asked.map(async ({ shard, places }) => {
        const query = { name: `${name} ${shard.id}`, text: shardStatement(onPart, shard) };
        const { rows } = await client.query({ ...query, values: [...valuesOf(places)] });
        return { places, rows: rows as unknown[] };
      });
      const committed = client.query('COMMIT');
      await settledOrFirstFault([...sent, committed]);
      const { command } = await committed;
      if (command !== 'COMMIT') throw new Error(`the transaction ended with ${command}`);
      return await Promise.all(sent);
    } catch (error) {
      failure = error as Error;
      throw this.from({ node }, error);
    } finally {
      client.release(failure);
    }
  }

  /** Does `work` where the shard of a workspace is, also when that has just moved. @returns undefined as `run` does */
  private async onShardOf<T>(
    workspaceId: string,
    work: (shard: Shard) => Promise<T>,
  ): Promise<T | undefined> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const shard = await this.reachable(workspaceId);
      if (!shard) return undefined;
      try {
        return await work(shard);
      } catch (error) {
        if (isFailedConnect(error as object)) {
          this.avoid(shard);
          return undefined;
        }
        if (!MOVED.has(sqlState(error) ?? '')) throw error;
        this.shards.forget();
      }
    }
    return undefined;
  }

  /**
   * The node that is the reason of an error, if it is away: the coordinator is asked, because a connection can also be lost to a
   * node that is there. Undefined for errors of the coordinator, and while it does not answer.
   */
  async awayIn(error: unknown): Promise<string | undefined> {
    const node = this.nodeIn(error);
    return node !== undefined && (await this.away.isAway(node)) ? node : undefined;
  }

  /** The node whose parts are left out because of an error: it is away (see `awayIn`), or this process does not reach it. */
  async leftOutBy(error: unknown): Promise<string | undefined> {
    const away = await this.awayIn(error);
    return away ?? (error instanceof NodeAway ? error.node : undefined);
  }

  private nodeIn(error: unknown): string | undefined {
    if (!(error instanceof Error)) return undefined;
    if (error instanceof NodeAway) return error.node;
    return this.origins.get(error) ?? nodeNamedIn(error) ?? this.nodeIn(error.cause);
  }

  /** Keeps from which node an error is. */
  private from(shard: Pick<Shard, 'node'>, error: unknown): unknown {
    if (error instanceof Error) this.origins.set(error, keyOf(shard));
    return error;
  }

  /** One for each node that has shards and is not away. */
  async nodePools(): Promise<pg.Pool[]> {
    const shards = (await this.shards.all()).filter((shard) => !this.away.has(keyOf(shard)));
    return [...new Set(shards.map((shard) => this.pools.of(shard)))];
  }

  /** Open connections to the nodes. */
  get connections(): number {
    return this.pools.connections;
  }

  async end(): Promise<void> {
    this.hasEnded = true;
    for (const timer of this.missed.values()) clearTimeout(timer);
    this.away.stop();
    await this.pools.end();
  }

  private async runOn(
    shard: Shard,
    { name, text, onShard = text }: Statement,
    values: readonly Parameter[],
  ): Promise<unknown[]> {
    const client = await this.pools.of(shard).connect();
    let failure: Error | undefined;
    try {
      if (onShard.includes('put_documents(')) await this.pools.createFunctions(client, shard);
      const query = {
        name: `${name} ${shard.id}`,
        text: shardStatement(onShard, shard),
        values: [...values],
      };
      return (await client.query(query)).rows as unknown[];
    } catch (error) {
      // A connection that has met a moved shard has plans and functions for it.
      if (isOver(error) || MOVED.has(sqlState(error) ?? '')) failure = error as Error;
      throw this.from(shard, error);
    } finally {
      client.release(failure);
    }
  }
}

/** Whether the connection has ended with an error, or is about to. */
function isOver(error: unknown): boolean {
  const state = sqlState(error);
  const { severity = '' } = error as pg.DatabaseError;
  return state === undefined || ENDS_CONNECTION.test(state) || /^(?:FATAL|PANIC)$/.test(severity);
}

/** Waits for all. @throws the error of the statement that failed first, not of those that its transaction then refused */
async function settledOrFirstFault(statements: readonly Promise<unknown>[]): Promise<void> {
  const outcomes = await Promise.allSettled(statements);
  const errors = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []));
  const fault = errors.find((error) => sqlState(error) !== ABORTED) ?? errors[0];
  if (fault) throw fault;
}

async function unlessAway<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NodeAway) return undefined;
    throw error;
  }
}
