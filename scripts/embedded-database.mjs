// The service's embedded PostgreSQL from the latest build, for scripts and tests that need their own server.

const MOST_MESSAGES = 50;

/** Starts PostgreSQL on an existing directory. @returns its `target`, for a client, and `stop` */
export async function startEmbeddedDatabase(dataDir, onFatal = rethrow) {
  const { lockDataDirectory, startEmbeddedPostgres } =
    await import('../dist/src/platform/database/embedded/index.js');
  await lockDataDirectory(dataDir);
  const messages = []; // printed when the server fails: tests provoke warnings
  const failed = (then) => (error) => {
    for (const message of messages) console.error(`PostgreSQL: ${message}`);
    return then(error);
  };
  const log = ({ message }) => {
    messages.push(message);
    if (messages.length > MOST_MESSAGES) messages.shift();
  };
  return startEmbeddedPostgres({ dataDir, log, onFatal: failed(onFatal) }).catch(failed(rethrow));
}

function rethrow(error) {
  throw error;
}
