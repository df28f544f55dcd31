/** The log of the service does not have what comes after this cursor: walk the snapshot, and take nothing for deleted. */
export class NeedsBootstrap extends Error {
  override readonly name = 'NeedsBootstrap';
}

/** One content could not be read to its end; others can. The cause says why. */
export class DownloadFailed extends Error {
  override readonly name = 'DownloadFailed';
}

/** The bytes are not those that their hash says: altered on the way, or by the service. */
export class ContentMismatch extends Error {
  override readonly name = 'ContentMismatch';
}
