import type { HeldBack, LocalFile, RemoteEntry, SyncedEntry } from './trees.js';

/** A change to one path. Each is checked again right before it changes the disk or the server. */
export type Operation =
  /** Upload the local content. `base` is the content hash that it replaces; undefined: there must be no live file. */
  | {
      readonly kind: 'upload';
      readonly path: string;
      readonly local: LocalFile;
      readonly base: string | undefined;
    }
  /** Write the server's content over `replaces`, which is what was last synced. */
  | {
      readonly kind: 'download';
      readonly path: string;
      readonly remote: RemoteEntry;
      readonly replaces: LocalFile | undefined;
    }
  /** Both sides have a content that the other has not seen: compare, and keep both if they differ. */
  | { readonly kind: 'merge'; readonly path: string; readonly local: LocalFile; readonly remote: RemoteEntry }
  | { readonly kind: 'delete-remote'; readonly path: string; readonly remote: RemoteEntry }
  | {
      readonly kind: 'delete-local';
      readonly path: string;
      readonly local: LocalFile;
      readonly synced: SyncedEntry;
    }
  /** The contents are known to be equal: record that. */
  | { readonly kind: 'adopt'; readonly path: string; readonly entry: SyncedEntry }
  /** Neither side has it any more, or it is excluded from now on. */
  | { readonly kind: 'forget'; readonly path: string }
  /** A file blocks a directory from the server: rename the file. */
  | { readonly kind: 'move-aside'; readonly path: string; readonly local: LocalFile }
  /** A directory without files blocks a file: remove it. */
  | { readonly kind: 'remove-directory'; readonly path: string };

export type OperationKind = Operation['kind'];

export interface Plan {
  /** in the order in which they are carried out */
  readonly operations: readonly Operation[];
  readonly heldBack: readonly HeldBack[];
  /** paths that can follow after these operations */
  readonly waiting: readonly string[];
}

/**
 * Uploads before deletions, so that a renamed file exists somewhere at any time; deletions before downloads, so that a file
 * can give way to a directory and the reverse.
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
