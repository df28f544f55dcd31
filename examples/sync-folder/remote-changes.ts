import { type VaultKeys, decryptPath } from '../../src/automation/vault-crypto.js';
import type { RemoteChange, SyncApi } from './api.js';

/** What happened on the server, the last change of each path, by path in plaintext. */
export interface RemoteChanges {
  readonly changes: Map<string, RemoteChange>;
  /** where the next pull begins, once these changes are in the folder */
  readonly cursor: number;
  /** Whether they are all that the server has, so that a file that is not among them is not there. */
  readonly isEverything: boolean;
}

/**
 * The changes since `cursor`; everything when there is no cursor, or the server no longer has all changes since then.
 *
 * @throws DecryptionError when a path does not open: the password is wrong, or someone altered it
 */
export async function fetchChanges(
  api: SyncApi,
  keys: VaultKeys,
  cursor: number | undefined,
): Promise<RemoteChanges> {
  const changes = new Map<string, RemoteChange>();
  const take = (change: RemoteChange): unknown =>
    changes.set(decryptPath(keys, change.encryptedPath), change);

  const pulled = cursor === undefined ? undefined : await pullAll(api, cursor, take);
  if (pulled !== undefined) return { changes, cursor: pulled, isEverything: false };

  changes.clear();
  const reached = await pullAll(api, await walkSnapshot(api, take), take);
  if (reached === undefined) throw new Error('the server forgets changes faster than they can be read');
  return { changes, cursor: reached, isEverything: true };
}

/**
 * Passes every live file to `take`. The cursor of the FIRST page is returned: a file that is made during the walk may
 * sort before the page that is being read, and only a pull from there is certain to show it.
 */
async function walkSnapshot(api: SyncApi, take: (change: RemoteChange) => unknown): Promise<number> {
  const first = await api.snapshot(null);
  for (let page = first; ; page = await api.snapshot(page.nextPageCursor)) {
    for (const file of page.files) take({ ...file, action: 'upsert' });
    if (page.nextPageCursor === null) return first.cursor;
  }
}

/** Passes the changes after `cursor` to `take`, oldest first. @returns the cursor reached, undefined when they are not there any more */
async function pullAll(
  api: SyncApi,
  cursor: number,
  take: (change: RemoteChange) => unknown,
): Promise<number | undefined> {
  for (let reached = cursor; ;) {
    const page = await api.pull(reached);
    if (!page) return undefined;
    page.changes.forEach(take);
    reached = page.cursor;
    if (!page.hasMore) return reached;
  }
}
