import type pg from 'pg';
import { execute } from '../execute.js';
import type { Parameter, Statement } from '../statement.js';
import type { Begin, Nodes, OpenTransaction, Place } from './nodes.js';

const HERE: Place = { id: '', node: '' };

const nothing = (): void => undefined;

/** All workspaces are in the one database that the service knows. */
export class OneServer implements Nodes {
  readonly areSeveral = false;

  constructor(private readonly pool: pg.Pool) {}

  placeOf(): Promise<Place> {
    return Promise.resolve(HERE);
  }

  knownPlaceOf(): Place {
    return HERE;
  }

  run<Row>(_: string, statement: Statement, values: readonly Parameter[]): Promise<Row[]> {
    return execute(this.pool, statement, values);
  }

  async begin(): Promise<OpenTransaction> {
    const client = await this.pool.connect();
    client.on('error', nothing); // the statement under way rejects too
    const release = (failure?: Error): void => {
      client.off('error', nothing);
      client.release(failure);
    };
    try {
      await client.query('BEGIN');
    } catch (error) {
      release(error as Error);
      throw error;
    }
    return { client, run: (statement, values) => execute(client, statement, values), release };
  }

  parts(): Promise<readonly Begin[]> {
    return Promise.resolve([]);
  }

  pools(): Promise<readonly pg.Pool[]> {
    return Promise.resolve([]);
  }

  end(): Promise<void> {
    return Promise.resolve();
  }
}
