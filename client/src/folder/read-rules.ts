import { contentOf } from './contents.js';
import { DiskError } from './errors.js';
import type { Clock, Disk } from './ports.js';
import { IGNORE_FILE, Rules, type Selection } from './rules.js';

const MOST_BYTES = 1024 * 1024;
/** An editor may be saving the file. */
const ATTEMPTS = 3;

/**
 * The current rules of a folder. Unreadable rules are an error, because the files that they exclude must not be sent.
 * @throws DiskError
 */
export async function readRules(disk: Disk, clock: Clock, selection: Selection): Promise<Rules> {
  for (let attempt = 1; ; attempt++) {
    const stat = await disk.stat(IGNORE_FILE);
    if (!stat) return new Rules('', selection);
    if (stat.kind !== 'file' || stat.size > MOST_BYTES)
      throw new DiskError('io', `${IGNORE_FILE} is no file of rules: nothing is synced before it is one`);
    try {
      const { content } = await contentOf(disk, clock, IGNORE_FILE, stat);
      return new Rules(new TextDecoder().decode(content), selection);
    } catch (error) {
      const isSavedNow = error instanceof DiskError && error.failure === 'changed';
      if (!isSavedNow || attempt === ATTEMPTS) throw error;
    }
  }
}
