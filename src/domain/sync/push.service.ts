import { Injectable } from '@nestjs/common';
import { ChangePublisher, type FileRow, lockedFilesAt, lockLog, logDeletions } from '../files/index.js';
import { Clock } from '../../platform/clock.js';
import { Database, type WorkspaceTx } from '../../platform/database/index.js';
import { type PushRequest, refuseCursor } from './sync.dto.js';
import { syncStatements } from './sync.queries.js';

/** The changes of one file above a device's base cursor, from the point of view of that device. */
interface ChangesSince {
  readonly fileId: string;
  readonly byOthers: boolean;
  /** The content hash of the device's own latest change if that is a deletion. */
  readonly ownDeletion: string | null;
  /** Content hashes that the device itself has deleted. */
  readonly deletedHashes: readonly string[];
}

type Verdict = 'landed' | 'conflict' | 'apply';

/**
 * Decides a pushed deletion of a live file. Rule 3 comes first: when the device's own latest change above its base is
 * this same delete, the push is a retry of a delete that already landed, even if another device has revived the file
 * since. The same holds after the device's own later upload, unless the push names the live content or no content at
 * all: then it may be a second, genuine deletion.
 */
function judgeDeletion(
  pushedHash: string | null,
  liveHash: string,
  since: ChangesSince | undefined,
): Verdict {
  if (!since) return 'apply';
  const isLatestWord =
    since.ownDeletion !== null && (pushedHash === null || pushedHash === since.ownDeletion);
  const isOfBefore =
    pushedHash !== null && pushedHash !== liveHash && since.deletedHashes.includes(pushedHash);
  if (isLatestWord || isOfBefore) return 'landed';
  return since.byOthers ? 'conflict' : 'apply';
}

export interface Pushed {
  readonly cursor: number;
  readonly accepted: string[];
  readonly conflicts: { encryptedPath: string; serverVersion: number; serverContentHash: string }[];
}

/** Push accepts deletions only and applies them in one transaction. */
@Injectable()
export class Push {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly changePublisher: ChangePublisher,
  ) {}

  /**
   * Every path of the request is returned exactly once, as accepted or as a conflict; a conflict changes nothing.
   * @throws Conflict when the base cursor does not belong to this log
   */
  async push(workspaceId: string, { deviceId, baseCursor, changes }: PushRequest): Promise<Pushed> {
    const hashes = new Map(changes.map((row) => [row.encryptedPath, row.contentHash?.toLowerCase() ?? null]));

    const { deleted, ...pushed } = await this.database.workspaceTransaction(workspaceId, async (tx) => {
      const log = await lockLog(tx, workspaceId);
      await refuseCursor(tx, { workspaceId, cursor: baseCursor }, log);
      const files = await lockedFilesAt(tx, workspaceId, [...hashes.keys()]);
      const live = new Map(files.filter((file) => !file.isDeleted).map((file) => [file.encryptedPath, file]));
      const since = await changesSince(tx, workspaceId, [...live.values()], baseCursor, deviceId);

      const judged = [...hashes].map(([encryptedPath, hash]) => {
        const file = live.get(encryptedPath);
        const verdict = file ? judgeDeletion(hash, file.contentHash, since.get(file.id)) : 'landed';
        return { encryptedPath, file, verdict };
      });
      const fileIds = judged.flatMap(({ file, verdict }) => (file && verdict === 'apply' ? [file.id] : []));
      const deletion = { workspaceId, deviceId, fileIds, now: this.clock.now() };
      return {
        deleted: fileIds.length,
        cursor: fileIds.length > 0 ? await logDeletions(tx, deletion) : log.headCursor,
        accepted: judged
          .filter(({ verdict }) => verdict !== 'conflict')
          .map(({ encryptedPath }) => encryptedPath),
        conflicts: judged.flatMap(({ file, verdict }) =>
          file && verdict === 'conflict' ? [conflictWith(file)] : [],
        ),
      };
    });
    if (deleted > 0) this.changePublisher.changed(workspaceId, deviceId, 'delete', deleted);
    return pushed;
  }
}

function conflictWith(file: FileRow): Pushed['conflicts'][number] {
  return {
    encryptedPath: file.encryptedPath,
    serverVersion: file.version,
    serverContentHash: file.contentHash,
  };
}

async function changesSince(
  tx: WorkspaceTx,
  workspaceId: string,
  files: FileRow[],
  baseCursor: number,
  deviceId: string,
): Promise<Map<string, ChangesSince>> {
  if (files.length === 0) return new Map();
  const values = [workspaceId, files.map(({ id }) => id), baseCursor, deviceId];
  const rows = await tx.run<ChangesSince>(syncStatements.changesSince, values);
  return new Map(rows.map((row) => [row.fileId, row]));
}
