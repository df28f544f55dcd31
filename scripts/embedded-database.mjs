// The embedded PostgreSQL of the service, as it was built last, for scripts and tests that want a server of their own.

/** Starts it on a directory that exists. @returns its `target`, for a client, and how to `stop` it */
export async function startEmbeddedDatabase(dataDir, onFatal = rethrow) {
  const { lockDataDirectory, startEmbeddedPostgres } =
    await import('../dist/src/platform/database/embedded/index.js');
  await lockDataDirectory(dataDir);
  return startEmbeddedPostgres({
    dataDir,
    log: ({ level, message }) => level === 'info' || console.error(`PostgreSQL: ${message}`),
    onFatal,
  });
}

/** For a server whose power nobody cuts: waiting for its disk is most of what tests would do. */
export async function doNotWaitForDisk(client) {
  for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes'])
    await client.query(`ALTER SYSTEM SET ${setting} = off`);
  await client.query('SELECT pg_reload_conf()');
}

function rethrow(error) {
  throw error;
}
