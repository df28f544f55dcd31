/** What the log holds of a file above a device's base cursor, seen from that device. */
export interface ChangesSince {
  readonly fileId: string;
  readonly byOthers: boolean;
  /** The device's own latest change; null when it has made none. */
  readonly ownAction: 'upsert' | 'delete' | null;
  readonly ownHash: string | null;
}

export type Verdict = 'landed' | 'conflict' | 'apply';

/**
 * Decides a pushed deletion of a live file.
 * Rule 3 first: when the device's own latest word above its base is this very delete, the push is a retry of what
 * landed, whoever has revived the file since. Its own upload of that hash is no such thing.
 */
export function judgeDeletion(pushedHash: string | null, since: ChangesSince | undefined): Verdict {
  if (!since) return 'apply';
  const isRetry = since.ownAction === 'delete' && (pushedHash === null || pushedHash === since.ownHash);
  if (isRetry) return 'landed';
  return since.byOthers ? 'conflict' : 'apply';
}
