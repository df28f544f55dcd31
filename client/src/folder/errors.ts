/** Why the disk refused an operation. */
export type DiskFailure =
  'absent' | 'exists' | 'changed' | 'in-the-way' | 'denied' | 'read-only' | 'full' | 'name' | 'io';

/** The disk refused one operation; others continue. The message is a sentence without the path. */
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

/** The server does not know the cursor: the log was compacted, or the server was restored from a backup. */
export class NeedsBootstrap extends Error {
  override readonly name = 'NeedsBootstrap';
}

/** No answer, or a refusal of everything (no network, no subscription). The sync stops, and starts again later. */
export class RemoteUnavailable extends Error {
  override readonly name = 'RemoteUnavailable';
}

/** One content was not transferred; others can be. */
export class TransferFailed extends Error {
  override readonly name = 'TransferFailed';
}

/** The envelope or the encrypted path cannot be decrypted: another vault, altered, or written by a faulty client. */
export class DoesNotOpen extends Error {
  override readonly name = 'DoesNotOpen';
}

/** The folder is not the one that was synced, so nothing in it counts as an edit or a deletion. */
export class WrongFolder extends Error {
  override readonly name = 'WrongFolder';
}
