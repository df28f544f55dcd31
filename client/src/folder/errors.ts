/** Why the disk refused something. */
export type DiskFailure =
  'absent' | 'exists' | 'changed' | 'in-the-way' | 'denied' | 'read-only' | 'full' | 'name' | 'io';

/** The disk refused one thing; everything else goes on. The message is a sentence without the path. */
export class DiskError extends Error {
  override readonly name = 'DiskError';

  constructor(
    readonly failure: DiskFailure,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The server does not know the cursor: compacted, or put back from a backup. */
export class NeedsBootstrap extends Error {
  override readonly name = 'NeedsBootstrap';
}

/** No answer, or a refusal of everything (no network, no subscription): the sync stops, and begins again later. */
export class RemoteUnavailable extends Error {
  override readonly name = 'RemoteUnavailable';
}

/** One content was not transferred; others can be. */
export class TransferFailed extends Error {
  override readonly name = 'TransferFailed';
}

/** The envelope or the encrypted path does not open: another vault, altered, or written by a careless client. */
export class DoesNotOpen extends Error {
  override readonly name = 'DoesNotOpen';
}

/** The folder is not the one that was synced, so nothing in it may be taken for an edit or a deletion. */
export class WrongFolder extends Error {
  override readonly name = 'WrongFolder';
}
