// The service's embedded PostgreSQL from the latest build, for scripts and tests that need their own server.

/** Starts PostgreSQL on an existing directory. @returns its `target`, for a client, and `stop` */
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
