import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../../config/index.js';
import { readPassword } from './cluster.js';
import { ask, type ConnectionTarget, embeddedTarget } from './connection-target.js';
import { errorCode, locateDataDirectory } from './data-directory.js';
import { readSignature } from './previous-run.js';

/** How long to wait for a server that is starting or shutting down. */
const SETTLED_WITHIN_MS = 15_000;

/**
 * Finds the database of a running service that uses the same data directory.
 * @returns null when none runs there
 * @throws OperatorError when this user may not access it
 */
export async function runningEmbeddedPostgres(dataDir: string): Promise<ConnectionTarget | null> {
  try {
    return await findRunning(dataDir);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    if (errorCode(error) !== 'EACCES') throw error;
    throw new OperatorError(
      `The database in ${dataDir} belongs to another user; run this command as the user who runs the service.`,
      { cause: error },
    );
  }
}

async function findRunning(dataDir: string): Promise<ConnectionTarget | null> {
  const data = await locateDataDirectory(dataDir);
  const deadline = performance.now() + SETTLED_WITHIN_MS;
  for (;;) {
    const signature = await readSignature(data);
    // Danger: the server of the original of a copied directory accepts the same password.
    if (!signature?.isOfThisCluster || signature.socketDirectory === '') return null;
    const target = embeddedTarget(signature.socketDirectory, await readPassword(data));
    const answer = await ask(target);
    if (answer === 'ready') return target;
    if (answer === 'absent' || performance.now() > deadline) return null;
    await delay(50);
  }
}
