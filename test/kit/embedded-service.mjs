// A service reduced to its database, for embedded-postgres*.spec.ts to start, kill and question from outside.
// Usage: node embedded-service.mjs DIST_ROOT COMMAND DATA_DIR. Speaks JSON lines on stdout; ends when stdin ends.
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [dist, command, dataDir] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(`${dist}/src/platform/database/embedded/${file}`).href);

// Twenty of them start at once in one test, so each loads only what it uses.
const module = { lock: 'data-directory.js', name: 'data-directory.js' }[command] ?? 'index.js';
const { lockDataDirectory, runningEmbeddedPostgres, startEmbeddedPostgres, tryLockName } = await load(module);

const say = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);

const commands = {
  /** Locks DATA_DIR and runs the database until SIGTERM. */
  async serve() {
    const since = performance.now();
    const lock = await lockDataDirectory(dataDir);
    const postgres = await startEmbeddedPostgres({
      dataDir,
      log: (line) => say({ event: 'log', ...line }),
      onFatal: (error) => {
        say({ event: 'fatal', message: error.message, cause: String(error.cause) });
        process.exit(2);
      },
    });
    process.once('SIGTERM', async () => {
      await Promise.all([postgres.stop(), postgres.stop()]);
      await lock.release();
      process.exit(0);
    });
    say({ event: 'ready', target: postgres.target, milliseconds: performance.now() - since });
  },

  async lock() {
    await lockDataDirectory(dataDir);
    say({ event: 'held' });
  },

  /** The way of systems where files cannot be locked. */
  async name() {
    if ((await tryLockName(dataDir)) === 'busy') throw new Error('busy');
    say({ event: 'held' });
  },

  async find() {
    say({ event: 'found', target: await runningEmbeddedPostgres(dataDir) });
    process.exit(0);
  },
};

const input = createInterface({ input: process.stdin });
input.once('close', () => process.exit(3));
input.once('line', () => {
  commands[command]().catch((error) => {
    say({ event: 'refused', name: error.name, message: error.message });
    process.exit(1);
  });
});
say({ event: 'loaded' });
