import { ApiError, InvalidAnswer, NetworkError } from '../http/index.js';
import { ContentMismatch, DownloadFailed } from './errors.js';

/** One item was not transferred. The others continue. */
export interface Failed {
  readonly kind: 'failed';
  readonly error: Error;
}

/** Refusals that are about one item. Any other status concerns the account, the workspace or the service. */
const OF_ITEM = new Set([400, 409, 413, 422, 500, 507]);

/**
 * Decides whether an error is about one item or ends the whole transfer.
 * @param probe a small request: if it fails too, the network is down
 * @throws the error, or that of the probe, when it is not about the item
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

/** Passes chunks on. @throws DownloadFailed for an error of the item alone; other errors as `failureOf` */
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
