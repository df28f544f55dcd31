import { DiskError, onDisk, replacePrivate, type Report } from '../folder/index.js';
import { exitCodeOf } from './errors.js';
import { EXIT, type ExitCode } from './exit-codes.js';
import { leftOverLines, listed } from './lists.js';
import type { SyncedFolder } from './synced-folder.js';

/** The report of a sync, as printed by `--json`. */
export interface SyncDocument {
  readonly folder: string;
  /** Number of files that folder and server have in common. */
  readonly files: number;
  readonly uploaded: readonly string[];
  readonly downloaded: readonly string[];
  /** Removed here, because another device deleted them. */
  readonly removedHere: readonly string[];
  /** Deleted on the server, because they were deleted here. */
  readonly deletedThere: readonly string[];
  readonly conflicts: readonly { readonly path: string; readonly copy: string }[];
  /** Files that need attention, each with a sentence. */
  readonly leftOver: readonly { readonly path: string; readonly reason: string }[];
  /** Directions in which many deletions were not confirmed. */
  readonly unconfirmed: readonly string[];
  /** Whether everything was compared by content, because the known state could not be relied on. */
  readonly beganAnew: boolean;
  /** Why it ended before everything was done; null when it finished. */
  readonly stopped: string | null;
  readonly exitCode: ExitCode;
}

export function documentOf(folder: string, report: Report): SyncDocument {
  return {
    ...{ folder, files: report.files },
    ...{ uploaded: [...report.uploaded], downloaded: [...report.downloaded] },
    ...{ removedHere: [...report.removedHere], deletedThere: [...report.deletedThere] },
    ...{ conflicts: report.conflicts, leftOver: report.leftOver, unconfirmed: [...report.refused] },
    ...{ beganAnew: report.beganAnew, stopped: report.stopped ?? null, exitCode: syncExitCode(report) },
  };
}

function syncExitCode(report: Report): ExitCode {
  if (report.stopped !== undefined) return exitCodeOf(report.cause);
  if (report.refused.length > 0) return EXIT.confirmationNeeded;
  return report.leftOver.length > 0 ? EXIT.leftOver : EXIT.ok;
}

/** The report as text for users. */
export function linesOf(document: SyncDocument): string[] {
  const { uploaded, downloaded, removedHere, deletedThere } = document;
  const lines = [
    ...listed('sent', uploaded),
    ...listed('received', downloaded),
    ...listed('removed here', removedHere),
    ...listed('deleted on the server', deletedThere),
    ...document.conflicts.map(
      ({ path, copy }) => `conflict: ${path} differs; this device's version is ${copy}`,
    ),
    ...leftOverLines(document.leftOver),
  ];
  if (document.beganAnew)
    lines.push('the server has another history than before: everything was compared by content');
  const inSync = `${document.files} files in sync`;
  lines.push(document.stopped === null ? inSync : `stopped: ${document.stopped} (${inSync})`);
  return lines;
}

/** Stores the result of a sync for `status`. @returns why it could not be stored, as on a full disk; the sync itself stands */
export async function keepReport(
  folder: SyncedFolder,
  document: SyncDocument,
  at = new Date(),
): Promise<string | undefined> {
  const { files, leftOver, conflicts, unconfirmed, stopped, exitCode } = document;
  const kept = { at: at.toISOString(), files, leftOver, conflicts, unconfirmed, stopped, exitCode };
  try {
    await onDisk(() => replacePrivate(folder.lastReport, `${JSON.stringify(kept)}\n`));
    return undefined;
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    return `The end of this sync cannot be kept in ${folder.lastReport}: ${error.message}.`;
  }
}
