import { OperatorError } from '../config/index.js';
import { StoreUnavailable } from '../storage/index.js';

/** Runs work on the blob stores; one that does not do its part is a sentence, not a stack. @throws OperatorError */
export async function withStores<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    if (error.cause instanceof OperatorError) throw error.cause;
    throw new OperatorError(`A blob store does not do its work: ${error.message}.`, { cause: error });
  }
}
