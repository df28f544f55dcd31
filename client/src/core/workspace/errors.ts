/** The log no longer has the changes after this cursor: walk the snapshot, and treat nothing as deleted. */
export class NeedsBootstrap extends Error {
  override readonly name = 'NeedsBootstrap';
}

/** One content could not be read to its end; others can. See the cause. */
export class DownloadFailed extends Error {
  override readonly name = 'DownloadFailed';
}

/** The bytes do not match their hash: altered in transit, or by the service. */
export class ContentMismatch extends Error {
  override readonly name = 'ContentMismatch';
}
