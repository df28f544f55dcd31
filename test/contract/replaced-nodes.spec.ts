import type { Pool } from 'pg';
import { NodeRouter } from '../../src/platform/database/distribution/index.js';
import { eventually } from '../kit/index.js';

const WORKSPACE = '01890000-0000-7000-8000-000000000001';

/** A coordinator whose only node, at the first port, does not answer until another address takes its place. */
class Coordinator {
  port = 6001;

  query(asked: string | { text: string }, values: unknown[] = []): Promise<{ rows: object[] }> {
    const sql = typeof asked === 'string' ? asked : asked.text;
    return Promise.resolve({ rows: this.rowsFor(sql, values) });
  }

  private rowsFor(sql: string, values: unknown[]): object[] {
    if (sql.includes('get_shard_id_for_distribution_column')) return [{ id: '7' }];
    if (sql.includes('citus_check_connection_to_node')) {
      const isNode = values[1] === String(this.port);
      return isNode || !sql.includes('pg_dist_node') ? [{ answers: false }] : [];
    }
    return [{ id: '7', host: 'node', port: this.port, tables: ['workspaces'], names: ['workspaces_7'] }];
  }
}

it('a node whose address a standby has taken over elsewhere is no longer refused', async () => {
  const coordinator = new Coordinator();
  const changes: [string, boolean][] = [];
  const router = new NodeRouter({
    coordinator: coordinator as unknown as Pool,
    url: 'postgres://nobody@coordinator/sync',
    onPoolError: () => undefined,
    onChange: (...change) => changes.push(change),
  });
  try {
    await router.refuseAway(WORKSPACE); // knows the address from now on
    expect(await router.nodeOf(WORKSPACE)).toBe('node:6001');
    router.note(new Error('connection to the remote node sync@node:6001 failed with the following error'));
    await expect(router.refuseAway(WORKSPACE)).rejects.toThrow('the node node:6001 is away');
    expect(await router.nodePools()).toEqual([]);

    coordinator.port = 6002;
    await eventually(() => router.refuseAway(WORKSPACE));
    expect(await router.nodeOf(WORKSPACE)).toBe('node:6002');
    expect(await router.nodePools()).toHaveLength(1);
    expect(changes).toEqual([
      ['node:6001', true],
      ['node:6001', false],
    ]);
  } finally {
    await router.end();
  }
});
