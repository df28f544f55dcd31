import { join } from 'node:path';
import { VaultHistory } from '../../core/index.js';
import {
  type Conflict,
  type HeldBack,
  type MassDeletion,
  NodeStateFile,
  pastFilesOf,
  RestoreRecord,
  type Restored,
} from '../../folder/index.js';
import type { Context, OpenVault } from '../context.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { confirmOn } from '../mass-deletion.js';
import type { Output } from '../output.js';
import { parseSize } from '../sizes.js';
import { type OpenEngine, openEngine } from '../sync-engine.js';
import { documentOf, keepReport, type SyncDocument } from '../sync-report.js';
import { type RestoreOptions, targetOf } from './target.js';

/** The result of a restore, as printed by `--json`. */
export interface RestoreDocument {
  readonly folder: string;
  readonly what: string;
  readonly restored: readonly string[];
  /** Removed, because they did not exist at that time. */
  readonly removed: readonly string[];
  /** Number of files that already had the restored content. */
  readonly same: number;
  /** Number of files that an earlier, interrupted attempt had restored; they are not touched again. */
  readonly before: number;
  /** Copies of local edits that had not been uploaded. */
  readonly conflicts: readonly Conflict[];
  readonly leftOver: readonly HeldBack[];
  readonly stopped: string | null;
  readonly exitCode: ExitCode;
}

export interface Wish {
  readonly scope: string;
  readonly place: string;
  readonly options: RestoreOptions;
}

/** Syncs, restores the files, and syncs again. */
export async function runRestore(context: Context, opened: OpenVault, wish: Wish): Promise<RestoreDocument> {
  const { output, interruption, prompt, options, onProgress } = context;
  const { folder, workspace, keys } = opened;
  const stateFile = new NodeStateFile(join(folder.state, 'restore'));
  const asking = confirmOn(prompt, options.yes === true);
  const allowed = new Set<string>();
  /** Asks once per set: the sync that uploads the deletions does not ask again. */
  const confirm = async (deletions: MassDeletion): Promise<boolean> => {
    if (!deletions.paths.every((path) => allowed.has(path)) && !(await asking(deletions))) return false;
    for (const path of deletions.paths) allowed.add(path);
    return true;
  };
  context.listen();
  const engine = await openEngine({
    ...{ ...opened, settings: folder.settings, signal: interruption.signal, confirm, onProgress },
  });
  try {
    const first = await synced(engine, opened, output);
    if (first.stopped !== null) return ended(opened, wish.place, undefined, first);
    const history = new VaultHistory(workspace, keys);
    const target = await targetOf(history, wish.scope, wish.place, wish.options);
    const record = await RestoreRecord.open(stateFile, target.key);
    if (record.count > 0)
      output.note(`A restore that was broken off goes on: ${record.count} files are left as they are now.`);
    const past = pastFilesOf(target.files, history, parseSize(folder.settings.maxSize), interruption.signal);
    const { restored, report } = await engine.sync.restore(past, record);
    const last = await synced(engine, opened, output);
    if (last.stopped === null) await record.close();
    const { conflicts, refused } = report;
    return ended(opened, target.what, { restored, conflicts, refused }, last);
  } finally {
    await engine.close();
    await stateFile.close();
  }
}

async function synced(engine: OpenEngine, { folder }: OpenVault, output: Output): Promise<SyncDocument> {
  const document = documentOf(folder.root, await engine.sync.sync());
  const problem = await keepReport(folder, document);
  if (problem !== undefined) output.note(problem);
  return document;
}

/** The parts of a restore's `Report` that the result needs. */
interface Done {
  readonly restored: Restored;
  readonly conflicts: readonly Conflict[];
  readonly refused: readonly unknown[];
}

function ended(
  { folder }: OpenVault,
  what: string,
  done: Done | undefined,
  last: SyncDocument,
): RestoreDocument {
  const { restored } = done ?? {};
  const leftOver = [...(restored?.leftOver ?? []), ...last.leftOver];
  const refused = (done?.refused.length ?? 0) > 0;
  return {
    ...{ folder: folder.root, what },
    ...{ restored: restored?.restored ?? [], removed: restored?.removed ?? [] },
    ...{ same: restored?.same.length ?? 0, before: restored?.before.length ?? 0 },
    ...{ conflicts: [...(done?.conflicts ?? []), ...last.conflicts], leftOver, stopped: last.stopped },
    exitCode: exitCode(last, refused, leftOver),
  };
}

function exitCode(last: SyncDocument, refused: boolean, leftOver: readonly HeldBack[]): ExitCode {
  if (last.stopped !== null) return last.exitCode;
  if (refused || last.exitCode === EXIT.confirmationNeeded) return EXIT.confirmationNeeded;
  return leftOver.length > 0 ? EXIT.leftOver : EXIT.ok;
}
