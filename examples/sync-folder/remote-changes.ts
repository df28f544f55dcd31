import { type VaultKeys, decryptPath } from '../../src/automation/vault-crypto.js';
import type { RemoteChange, SyncApi } from './api.js';

/** The server's changes: the last change of each path, by plaintext path. */
export interface RemoteChanges {
  readonly changes: Map<string, RemoteChange>;
  /** the next pull starts here, once these changes are in the folder */
  readonly cursor: number;
  /** Whether these are all files on the server, so that any other file does not exist there. */
  readonly isEverything: boolean;
}

/**
 * The changes since `cursor`; everything when there is no cursor, or when the server no longer has all changes since
 * then.
 *
 * @throws DecryptionError when a path cannot be decrypted: the password is wrong, or the path was altered
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
  if (reached === undefined) throw new Error('the server compacts changes faster than they can be read');
  return { changes, cursor: reached, isEverything: true };
}

/**
 * Passes every live file to `take`. Returns the cursor of the FIRST page: a file created during the walk may sort
 * before the current page, and only a pull from that cursor is certain to include it.
 */
async function walkSnapshot(api: SyncApi, take: (change: RemoteChange) => unknown): Promise<number> {
  const first = await api.snapshot(null);
  for (let page = first; ; page = await api.snapshot(page.nextPageCursor)) {
    for (const file of page.files) take({ ...file, action: 'upsert' });
    if (page.nextPageCursor === null) return first.cursor;
  }
}

/**
 * Passes the changes after `cursor` to `take`, oldest first. @returns the cursor reached; undefined when they are no
 * longer available
 */
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
