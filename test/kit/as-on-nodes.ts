import { Database, FILL_CATALOGUE, isUnanswered } from '../../src/platform/database/index.js';
import { NodeAway } from '../../src/platform/database/database-errors.js';
import type { ByNode, NodeTransaction } from '../../src/platform/database/distribution/node-router.js';
import { IMPOSSIBLE_REFERENCES } from '../../src/platform/database/distribution/placement.js';
import type { Parameter, Statement } from '../../src/platform/database/index.js';
import type { TestService } from './service.js';

export const NODE = '10.0.0.7:5432';

/**
 * Stands for the engine and its nodes, of which one can be away: all workspaces are in the service's one database. Statements that
 * go through the coordinator reach also what is on the node that is away; a test looks at the rows.
 */
export class AsOnNodes {
  private readonly away = new Set<string>();
  private readonly works: (() => void)[] = [];

  private constructor(private readonly database: Database) {}

  /** From then on the service treats its database as the coordinator of nodes. */
  static async of({ app, database: rows }: TestService): Promise<AsOnNodes> {
    for (const { table, name } of IMPOSSIBLE_REFERENCES)
      await rows.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
    for (const sql of FILL_CATALOGUE) await rows.query(sql);
    const database = app.get(Database);
    const nodes = new AsOnNodes(database);
    Object.assign(database, { router: nodes });
    return nodes;
  }

  /** The node goes away, and these workspaces with it. */
  leave(...workspaceIds: string[]): void {
    for (const id of workspaceIds) this.away.add(id);
  }

  comeBack(): void {
    this.away.clear();
    for (const work of this.works) work();
  }

  onBack(work: () => void): void {
    this.works.push(work);
  }

  note(): void {
    // It needs no news.
  }

  refuseAway(id: string): Promise<void> {
    return this.away.has(id) ? Promise.reject(new NodeAway(NODE)) : Promise.resolve();
  }

  async run(_: Statement, [id]: readonly Parameter[]): Promise<undefined> {
    await this.refuseAway(String(id));
  }

  begin(id: string): Promise<undefined> {
    return this.run({ name: '', text: '' }, [id]);
  }

  nodeOf(id: string): Promise<string> {
    return Promise.resolve(this.away.has(id) ? NODE : 'the other');
  }

  knownNodeOf(): undefined {
    // Each time it is asked anew.
  }

  byNode(ids: readonly string[]): Promise<ByNode> {
    const here = ids.filter((id) => !this.away.has(id));
    return Promise.resolve({
      groups: here.length === 0 ? [] : [here],
      away: ids.filter((id) => this.away.has(id)),
    });
  }

  awayIn(error: unknown): Promise<string | undefined> {
    return Promise.resolve(error instanceof NodeAway && isUnanswered(error) ? error.node : undefined);
  }

  leftOutBy(error: unknown): Promise<string | undefined> {
    return this.awayIn(error);
  }

  /** Two: all rows, and those of the node when it is away. */
  parts(): Promise<(() => Promise<NodeTransaction>)[]> {
    const away = (): Promise<NodeTransaction> => Promise.reject(new NodeAway(NODE));
    const all = async (): Promise<NodeTransaction> => {
      const client = await this.database.pool.connect();
      await client.query('BEGIN');
      const run = async ({ name, text, onPart = text }: Statement, values: readonly Parameter[]) =>
        (await client.query({ name: `${name} in a part`, text: onPart, values: [...values] }))
          .rows as unknown[];
      return { client, run, from: (error) => error };
    };
    return Promise.resolve(this.away.size > 0 ? [away, all] : [all]);
  }

  end(): Promise<void> {
    return Promise.resolve();
  }
}
