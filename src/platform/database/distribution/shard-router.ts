import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import { isFailedConnect } from '../database-server.js';
import { sqlState } from '../database-errors.js';
import { execute, type Parameter, type Statement, type Text } from '../statement.js';
import { NodePools, type NodePoolSettings } from './node-pools.js';
import type { Begin, Nodes, OpenTransaction, Place } from './nodes.js';
import { NOT_HERE, type Shard, ShardElsewhere, Shards } from './shards.js';

/** One retry for a shard that has moved, and one in case it moves again. */
const ATTEMPTS = 3;
const PAUSE_MS = 50;
/** Includes undefined_table: the table of a shard that was moved away is dropped soon after. */
const MOVED = new Set([NOT_HERE, '42P01']);
/** SQLSTATEs with which a server closes the connection. The severity may be translated. */
const ENDS_CONNECTION = /^(?:08|57P|25P0[34])/;

/**
 * Sends the statements of a workspace to its node, directly to the tables of its shard: planning in the engine costs several
 * times as much as the statement itself. While a node does not answer, its statements fail; later ones go to the standby that the
 * engine has promoted.
 */
export class ShardRouter implements Nodes {
  readonly areSeveral = true;
  private readonly shards: Shards;
  private readonly nodes: NodePools;

  constructor(settings: NodePoolSettings) {
    this.shards = new Shards(settings.coordinator);
    this.nodes = new NodePools(settings);
  }

  placeOf(workspaceId: string): Promise<Place> {
    return this.shards.of(workspaceId);
  }

  knownPlaceOf(workspaceId: string): Place | undefined {
    return this.shards.knownOf(workspaceId);
  }

  run<Row>(workspaceId: string, statement: Statement, values: readonly Parameter[]): Promise<Row[]> {
    return this.where(
      () => this.shards.of(workspaceId),
      (shard) => this.runOn<Row>(shard, statement, values),
    );
  }

  begin(workspaceId: string): Promise<OpenTransaction> {
    return this.where(
      () => this.shards.of(workspaceId),
      (shard) => this.beginOn(shard),
    );
  }

  async parts(): Promise<readonly Begin[]> {
    const shards = await this.shards.all();
    return shards.map(({ id }) => () => {
      const place = (): Promise<Shard> => this.shards.withId(id);
      return this.where(place, (shard) => this.beginOn(shard));
    });
  }

  async pools(): Promise<readonly pg.Pool[]> {
    const shards = await this.shards.all();
    return [...new Set(shards.map((shard) => this.nodes.of(shard)))];
  }

  end(): Promise<void> {
    return this.nodes.end();
  }

  /** Runs `work` on the node of a shard; retries if the shard has just moved. */
  private async where<T>(find: () => Promise<Shard>, work: (shard: Shard) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const shard = await find();
      try {
        return await work(shard);
      } catch (error) {
        if (!this.forgets(error) || isFailedConnect(error as object)) throw error;
        if (attempt === ATTEMPTS) throw new ShardElsewhere('the shard moves on and on', { cause: error });
        await setTimeout(attempt * PAUSE_MS); // the node learns of a move a moment after the coordinator
      }
    }
  }

  /**
   * Forgets the places of shards if outdated places may have caused the error.
   * @returns whether the statement failed for that reason, without effect
   */
  private forgets(error: unknown): boolean {
    if (isFailedConnect(error as object))
      this.shards.forgetPlaces(); // a standby may have another address
    else if (MOVED.has(sqlState(error) ?? '')) this.shards.forget();
    else return false;
    return true;
  }

  private async runOn<Row>(shard: Shard, statement: Statement, values: readonly Parameter[]): Promise<Row[]> {
    const client = await this.nodes.of(shard).connect();
    let failure: Error | undefined;
    try {
      const text = await this.nodes.textOn(client, shard, statement);
      return await execute(client, guarded(text, shard), values);
    } catch (error) {
      // After a shard has moved, the connection still has plans and functions for it.
      if (isOver(error) || MOVED.has(sqlState(error) ?? '')) failure = error as Error;
      throw error;
    } finally {
      client.release(failure);
    }
  }

  private async beginOn(shard: Shard): Promise<OpenTransaction> {
    const client = await this.nodes.of(shard).connect();
    try {
      await client.query(`BEGIN; SELECT hold_shard(${shard.id})`);
    } catch (error) {
      client.release(error as Error);
      throw error;
    }
    return {
      client,
      run: async (statement, values) =>
        execute(client, await this.nodes.textOn(client, shard, statement), values),
      release: (failure) => client.release(failure),
    };
  }
}

/** Fails with `NOT_HERE` when the shard has moved: its old copy exists for a moment longer, and must not be read or written. */
export const guarded = ({ name, text, isBinary }: Text, { id }: Shard): Text => ({
  name: `${name} guarded`,
  text: `SELECT * FROM (${text}) AS routed WHERE shard_is_here(${id})`,
  isBinary,
});

/** Whether the connection is closed, or about to be, because of the error. */
function isOver(error: unknown): boolean {
  const state = sqlState(error);
  const { severity = '' } = error as pg.DatabaseError;
  return state === undefined || ENDS_CONNECTION.test(state) || /^(?:FATAL|PANIC)$/.test(severity);
}
