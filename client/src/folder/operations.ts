import type { HeldBack, LocalFile, RemoteEntry, SyncedEntry } from './trees.js';

/** What is to be done about one path. Each is checked again right before it touches the disk or the server. */
export type Operation =
  /** Send the local content. `base` is the content hash that it replaces; undefined: no live file may be there. */
  | {
      readonly kind: 'upload';
      readonly path: string;
      readonly local: LocalFile;
      readonly base: string | undefined;
    }
  /** Write the server's content, over `replaces`, which is what was last synced. */
  | {
      readonly kind: 'download';
      readonly path: string;
      readonly remote: RemoteEntry;
      readonly replaces: LocalFile | undefined;
    }
  /** Both sides have a content that the other has not seen: compare, then keep both where they differ. */
  | { readonly kind: 'merge'; readonly path: string; readonly local: LocalFile; readonly remote: RemoteEntry }
  | { readonly kind: 'delete-remote'; readonly path: string; readonly remote: RemoteEntry }
  | {
      readonly kind: 'delete-local';
      readonly path: string;
      readonly local: LocalFile;
      readonly synced: SyncedEntry;
    }
  /** The contents are known to be equal: record it. */
  | { readonly kind: 'adopt'; readonly path: string; readonly entry: SyncedEntry }
  /** Neither side has it any more, or it is left out from now on. */
  | { readonly kind: 'forget'; readonly path: string }
  /** A file stands where the server has a directory: it gets another name. */
  | { readonly kind: 'move-aside'; readonly path: string; readonly local: LocalFile }
  /** A directory without files stands in the way. */
  | { readonly kind: 'remove-directory'; readonly path: string };

export type OperationKind = Operation['kind'];

export interface Plan {
  /** in the order in which they are to be done */
  readonly operations: readonly Operation[];
  readonly heldBack: readonly HeldBack[];
  /** paths that can follow once these operations are done */
  readonly waiting: readonly string[];
}

/**
 * Uploads before deletions, so that a renamed file exists somewhere at every moment; deletions before downloads, so
 * that a file makes way for a directory and the reverse.
 */
const ORDER: readonly OperationKind[] = [
  'adopt',
  'forget',
  'move-aside',
  'upload',
  'delete-remote',
  'delete-local',
  'remove-directory',
  'download',
  'merge',
];

export function inOrder(operations: Operation[]): Operation[] {
  const rank = new Map(ORDER.map((kind, index) => [kind, index]));
  return operations.sort(
    (a, b) => (rank.get(a.kind) ?? 0) - (rank.get(b.kind) ?? 0) || (a.path < b.path ? -1 : 1),
  );
}
