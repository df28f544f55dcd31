// The service's embedded PostgreSQL from the latest build, for scripts and tests that need their own server.

/** Starts PostgreSQL on an existing directory. @returns its `target`, for a client, and `stop` */
export async function startEmbeddedDatabase(dataDir, onFatal = rethrow) {
  const { lockDataDirectory, startEmbeddedPostgres } =
    await import('../dist/src/platform/database/embedded/index.js');
  await lockDataDirectory(dataDir);
  let messages = []; // of interest only when the start fails; tests provoke warnings afterwards
  try {
    return await startEmbeddedPostgres({ dataDir, log: ({ message }) => messages?.push(message), onFatal });
  } catch (error) {
    for (const message of messages) console.error(`PostgreSQL: ${message}`);
    throw error;
  } finally {
    messages = undefined;
  }
}

function rethrow(error) {
  throw error;
}
