import type pg from 'pg';
import type { Parameter, Statement } from '../statement.js';

export type Run = <Row>(statement: Statement, values: readonly Parameter[]) => Promise<Row[]>;

/** An open transaction on the tables of some workspaces. Its owner sends COMMIT or ROLLBACK, and releases it. */
export interface OpenTransaction {
  readonly client: pg.PoolClient;
  readonly run: Run;
  /** @param failure of the connection, which is not used again then */
  release(failure?: Error): void;
}

/** Opens a transaction, which stays where the rows are until its end. */
export type Begin = () => Promise<OpenTransaction>;

/** Where the rows of a workspace are. Both are '' on one server. */
export interface Place {
  /** The part of the tables that has its rows. */
  readonly id: string;
  /** The node that has it, as `host:port`. */
  readonly node: string;
}

export const NODES = Symbol('NODES');

/** Where workspaces are: all in one database, or on the nodes of an engine that distributes its tables by workspace. */
export interface Nodes {
  /** Whether there are several. */
  readonly areSeveral: boolean;

  /** Where a workspace is or would be. */
  placeOf(workspaceId: string): Promise<Place>;

  /** As `placeOf`, if that is known without asking. */
  knownPlaceOf(workspaceId: string): Place | undefined;

  /** Runs a statement of a workspace, or of some of one part; it is committed when this resolves. */
  run<Row>(workspaceId: string, statement: Statement, values: readonly Parameter[]): Promise<Row[]>;

  /** Opens a transaction for statements of a workspace alone. */
  begin(workspaceId: string): Promise<OpenTransaction>;

  /** One for each part that the tables of workspaces have; together they have all rows. None on one server. */
  parts(): Promise<readonly Begin[]>;

  /** The pools of the nodes, without that of the coordinator. */
  pools(): Promise<readonly pg.Pool[]>;

  /** Closes the connections to the nodes. */
  end(): Promise<void>;
}
