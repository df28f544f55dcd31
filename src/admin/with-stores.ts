import { StartupError } from '../config/index.js';
import { StoreUnavailable } from '../platform/blobs/index.js';

/** Runs work on the blob stores; one that does not do its part is a sentence, not a stack. @throws StartupError */
export async function withStores<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    if (error.cause instanceof StartupError) throw error.cause;
    throw new StartupError(`A blob store does not do its work: ${error.message}.`, { cause: error });
  }
}
