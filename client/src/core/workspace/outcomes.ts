import { ApiError, InvalidAnswer, NetworkError } from '../http/index.js';
import { ContentMismatch, DownloadFailed } from './errors.js';

/** One item was not transferred. All others go on. */
export interface Failed {
  readonly kind: 'failed';
  readonly error: Error;
}

/** Refusals of one item: what it is, or where it goes. All others concern the account, the workspace or the service. */
const OF_ITEM = new Set([400, 409, 413, 422, 500, 507]);

/**
 * Decides whether an error is that of one item, or ends the whole.
 * @param probe asks the service for something small: a network that fails for that too is gone
 * @throws the error, or that of the probe, when it is not the item's own
 */
export async function failureOf(error: unknown, probe: () => Promise<unknown>): Promise<Failed> {
  if (error instanceof NetworkError) await probe();
  const isOfItem =
    error instanceof NetworkError ||
    error instanceof ContentMismatch ||
    error instanceof InvalidAnswer ||
    (error instanceof ApiError && OF_ITEM.has(error.status));
  if (!isOfItem) throw error;
  return { kind: 'failed', error };
}

/** Passes chunks on. @throws DownloadFailed for an error that is the item's own; as `failureOf` for others */
export async function* endingAsFailed(
  chunks: AsyncIterable<Uint8Array>,
  probe: () => Promise<unknown>,
): AsyncGenerator<Uint8Array, void> {
  try {
    yield* chunks;
  } catch (error) {
    const { error: cause } = await failureOf(error, probe);
    throw new DownloadFailed(cause.message, { cause });
  }
}
