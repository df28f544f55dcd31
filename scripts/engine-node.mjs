// The node of one workspace, for scripts/engine-statements.mjs.
import pg from 'pg';

/** @returns what prepares statements on the tables of the workspace's shard, as the service does */
export async function onlyNode(coordinator, url, workspaceId) {
  const { Shards } = await import('../dist/src/platform/database/distribution/shards.js');
  const { FUNCTION_DEFINITIONS, shardFunction, shardStatement } =
    await import('../dist/src/platform/database/distribution/shard-text.js');
  const shard = await new Shards(coordinator).of(workspaceId);
  if (!shard) throw new Error('the engine knows no node for a workspace: has `npm run distribute` been run?');
  const address = new URL(url);
  address.hostname = shard.node.host;
  address.port = String(shard.node.port);
  const client = new pg.Client({ connectionString: address.href });
  await client.connect();
  await client.query('SET citus.enable_ddl_propagation = off');
  const { rows } = await coordinator.query(FUNCTION_DEFINITIONS);
  for (const { definition } of rows) await client.query(shardFunction(definition, shard));
  const errorOf = async (text) => {
    try {
      await client.query(`PREPARE tried AS ${shardStatement(text, shard)}`);
      await client.query('DEALLOCATE tried');
      return null;
    } catch (error) {
      return error.message;
    }
  };
  return { errorOf, end: () => client.end() };
}
