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

function rethrow(error) {
  throw error;
}
