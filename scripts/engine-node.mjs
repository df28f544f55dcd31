/** @returns `errorOf`, which prepares a statement on the workspace's shard as the service does, and `end` */
export async function onlyNode(coordinator, url, workspaceId) {
  const { Shards } = await import('../dist/src/platform/database/distribution/shards.js');
  const { NodePools } = await import('../dist/src/platform/database/distribution/node-pools.js');
  const { guarded } = await import('../dist/src/platform/database/distribution/shard-router.js');
  const { UPLOAD_FUNCTIONS } = await import('../dist/src/domain/files/index.js');
  const shard = await new Shards(coordinator).of(workspaceId);
  const settings = { coordinator, url, functions: [UPLOAD_FUNCTIONS], onPoolError: () => undefined };
  const pools = new NodePools(settings);
  const client = await pools.of(shard).connect();
  const errorOf = async (statement) => {
    try {
      const asked = await pools.textOn(client, shard, statement);
      const { text } = statement.isOfWorkspace ? guarded(asked, shard) : asked;
      await client.query(`PREPARE tried AS ${text}`);
      await client.query('DEALLOCATE tried');
      return null;
    } catch (error) {
      return error.message;
    }
  };
  const end = async () => {
    client.release();
    await pools.end();
  };
  return { errorOf, end };
}
