import type { VaultKeys } from '../crypto/index.js';
import { ApiError, InvalidAnswer } from '../http/index.js';
import {
  NeedsBootstrap,
  type RemoteChange,
  type RestoreManifest,
  type Workspace,
} from '../workspace/index.js';
import { openedPath } from './names.js';

/** A file in an earlier state. */
export interface PastFile {
  readonly path: string;
  readonly encryptedPath: string;
  /**
   * The version at that time; `now`: the same as the current one; `absent`: the file did not exist; `lost`: the service no
   * longer has the version.
   */
  readonly then: { readonly versionId: string } | 'now' | 'absent' | 'lost';
}

/** All files at a point in time, and the files that have been added since. */
export interface PastState {
  /** By path. */
  readonly files: readonly PastFile[];
  /** Number of files whose names this vault does not open; they are left alone. */
  readonly unreadable: number;
}

/** The state that a checkpoint marks. */
export function stateOfManifest(keys: VaultKeys, { entries }: RestoreManifest): PastState {
  const files: PastFile[] = [];
  let unreadable = 0;
  for (const { encryptedPath, op, afterVersionId } of entries) {
    if (op === 'noop' && afterVersionId === null) continue; // neither then nor now
    const path = openedPath(keys, encryptedPath);
    if (path === undefined) unreadable++;
    else if (op === 'noop') files.push({ path, encryptedPath, then: 'now' });
    else if (op === 'delete') files.push({ path, encryptedPath, then: 'absent' });
    else
      files.push({
        ...{ path, encryptedPath },
        then: afterVersionId === null ? 'lost' : { versionId: afterVersionId },
      });
  }
  return { files: inOrder(files), unreadable };
}

/** A change with the service's time of it. */
type DatedChange = RemoteChange & { readonly changedAt: string };

/**
 * The state at a point in time, from the change log.
 * @throws RangeError when the log no longer goes back that far
 */
export async function stateAt(workspace: Workspace, keys: VaultKeys, moment: Date): Promise<PastState> {
  const changes = await wholeLog(workspace, moment);
  let end = changes.length;
  while (end > 0 && Date.parse(changes[end - 1]?.changedAt ?? '') > moment.getTime()) end--;
  const before = new Map(changes.slice(0, end).map((change) => [change.encryptedPath, change]));
  const now = new Map(changes.map((change) => [change.encryptedPath, change]));
  const files: PastFile[] = [];
  let unreadable = 0;
  for (const [encryptedPath, head] of now) {
    const then = before.get(encryptedPath);
    const wasThere = then?.action === 'upsert';
    const isThere = head.action === 'upsert';
    if (!wasThere && !isThere) continue;
    const path = openedPath(keys, encryptedPath);
    if (path === undefined) unreadable++;
    else if (!wasThere) files.push({ path, encryptedPath, then: 'absent' });
    else if (isThere && then.contentHash === head.contentHash)
      files.push({ path, encryptedPath, then: 'now' });
    else files.push({ path, encryptedPath, then: await versionOf(workspace, then) });
  }
  return { files: inOrder(files), unreadable };
}

async function versionOf(workspace: Workspace, change: RemoteChange): Promise<PastFile['then']> {
  const versions = await workspace.history.versions(change.encryptedPath);
  const found = versions.find(({ version }) => version === change.version);
  return found ? { versionId: found.id } : 'lost';
}

/** Every change, by any device. */
async function wholeLog(workspace: Workspace, moment: Date): Promise<DatedChange[]> {
  const changes: DatedChange[] = [];
  try {
    for await (const page of workspace.log.changes(0)) changes.push(...(page.changes as DatedChange[]));
  } catch (error) {
    if (!(error instanceof NeedsBootstrap)) throw error;
    const day = moment.toISOString();
    throw new RangeError(
      `the server has shortened its change log, and cannot tell what was there at ${day}: choose a checkpoint, or restore single files`,
      { cause: error },
    );
  }
  if (!changes.every(({ changedAt }) => Number.isFinite(Date.parse(changedAt))))
    throw new InvalidAnswer('the service has a change without a time');
  return changes;
}

const inOrder = (files: PastFile[]): PastFile[] => files.sort((a, b) => (a.path < b.path ? -1 : 1));

/** The comparison with a checkpoint. @throws RangeError when the log no longer goes back that far */
export async function manifestOf(workspace: Workspace, checkpointId: string): Promise<RestoreManifest> {
  try {
    return await workspace.history.restoreManifest(checkpointId);
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 409)) throw error;
    throw new RangeError(
      'the server has shortened its change log, and cannot tell what was there at this checkpoint',
      { cause: error },
    );
  }
}
