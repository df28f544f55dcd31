/** What the log holds of a file above a device's base cursor, seen from that device. */
export interface ChangesSince {
  readonly fileId: string;
  readonly byOthers: boolean;
  /** The device's own latest change; null when it has made none. */
  readonly ownAction: 'upsert' | 'delete' | null;
  readonly ownHash: string | null;
  /** What the device itself has deleted. */
  readonly deletedHashes: readonly string[];
}

export type Verdict = 'landed' | 'conflict' | 'apply';

/**
 * Decides a pushed deletion of a live file.
 * Rule 3 first: when the device's own latest word above its base is this very delete, the push is a retry of what
 * landed, whoever has revived the file since. So it is after an own upload, unless the live content is what the push
 * names or it names none: then it may as well be deleted for the second time.
 */
export function judgeDeletion(
  pushedHash: string | null,
  liveHash: string,
  since: ChangesSince | undefined,
): Verdict {
  if (!since) return 'apply';
  const isLatestWord = since.ownAction === 'delete' && (pushedHash === null || pushedHash === since.ownHash);
  const isOfBefore =
    pushedHash !== null && pushedHash !== liveHash && since.deletedHashes.includes(pushedHash);
  if (isLatestWord || isOfBefore) return 'landed';
  return since.byOthers ? 'conflict' : 'apply';
}
