import type { Session, VaultKeys } from '../core/index.js';
import {
  type Disk,
  FolderSync,
  type MassDeletion,
  NodeDisk,
  NodeStateFile,
  type Plan,
  type Progress,
  massDeletions,
  type StateFile,
  systemClock,
  systemRandom,
  VaultCipher,
  WorkspaceRemote,
} from '../folder/index.js';
import { interruptible } from './interruptible-remote.js';
import { JournalCopy, ViewedDisk } from './preview.js';
import type { Settings } from './settings.js';
import { parseSize } from './sizes.js';
import { documentOf, type SyncDocument } from './sync-report.js';
import type { SyncedFolder } from './synced-folder.js';

export interface EngineParts {
  readonly folder: SyncedFolder;
  readonly session: Session;
  readonly keys: VaultKeys;
  /** The settings of the folder, with the overrides of the command line. */
  readonly settings: Settings;
  /** Ends the sync after the current step. */
  readonly signal: AbortSignal;
  readonly confirm?: (deletions: MassDeletion) => Promise<boolean>;
  readonly onProgress?: (progress: Progress) => void;
}

export interface OpenEngine {
  readonly sync: FolderSync;
  close(): Promise<void>;
}

/** Opens the engine of a folder. The caller holds the lock. @throws WrongFolder */
export async function openEngine(parts: EngineParts): Promise<OpenEngine> {
  const stateFile = new NodeStateFile(parts.folder.journal);
  try {
    const sync = await engineOf(parts, new NodeDisk(parts.folder.root), stateFile);
    return { sync, close: () => stateFile.close() };
  } catch (error) {
    await stateFile.close();
    throw error;
  }
}

/** Opens the engine of a folder, syncs once, and closes it. The caller holds the lock. @throws WrongFolder */
export async function syncOnce(parts: EngineParts): Promise<SyncDocument> {
  const engine = await openEngine(parts);
  try {
    return documentOf(parts.folder.root, await engine.sync.sync());
  } finally {
    await engine.close();
  }
}

/** What a sync would do. */
export interface Preview {
  readonly plan: Plan;
  readonly massDeletions: readonly MassDeletion[];
  /** Number of files that folder and server have in common now. */
  readonly files: number;
}

/** Computes a preview without the lock, and changes nothing. */
export async function previewOf(parts: EngineParts): Promise<Preview> {
  const journal = await JournalCopy.of(parts.folder.journal);
  const sync = await engineOf(parts, new ViewedDisk(parts.folder.root), journal);
  const plan = await sync.preview();
  const { synced } = await journal.state();
  return { plan, massDeletions: massDeletions(plan, synced), files: synced.size };
}

async function engineOf(parts: EngineParts, disk: Disk, stateFile: StateFile): Promise<FolderSync> {
  const { session, keys, settings, signal, confirm, onProgress } = parts;
  const { workspace, device, only, maxSize } = settings;
  const remote = new WorkspaceRemote(session, workspace, device, () => sync.stamp);
  const sync: FolderSync = await FolderSync.open({
    parts: {
      ...{ disk, remote: interruptible(remote, signal), cipher: new VaultCipher(keys) },
      ...{ clock: systemClock, random: systemRandom },
    },
    stateFile,
    workspace,
    options: { device, maxFileBytes: parseSize(maxSize), only, confirm, onProgress },
  });
  return sync;
}
