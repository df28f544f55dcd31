import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { explainedByDataDir } from './data-dir-fault.js';
import { keptText } from './kept-text.js';
import { makeDirectories } from './ownership.js';

/**
 * A secret that nobody has set: made once, kept under `DATA_DIR/secrets` (mode 0600), the same at every later start.
 * Two processes that start at once agree.
 * @throws OperatorError when it can be neither read nor made
 */
export async function keptSecret(dataDir: string, name: string): Promise<string> {
  const directory = join(dataDir, 'secrets');
  try {
    await makeDirectories(directory, 0o700);
    return await keptText(join(directory, name), () => randomBytes(32).toString('base64url'));
  } catch (error) {
    throw explainedByDataDir(error, directory);
  }
}
