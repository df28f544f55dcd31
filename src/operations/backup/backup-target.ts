import { type Manifest, parsed } from './backup-parts.js';
import type { PlaceMark } from './place-mark.js';

export type BackupState = 'verified' | 'unverified' | 'partial' | 'damaged' | 'by hand';

export interface ListedBackup {
  readonly name: string;
  readonly state: BackupState;
  /** Absent where the manifest is missing or cannot be read. */
  readonly manifest?: Manifest;
}

export type Names = ReadonlySet<string>;

export const NO_NAMES: Names = new Set();

/** A backup that is being made. */
export interface Draft {
  /** The time of the backup, as in its name. */
  readonly stamp: string;
  /** The location in which it is made. */
  readonly draft: string;
  /** A directory of this machine for its trial. */
  readonly scratch: string;
}

/** BACKUP_DIR: a directory, or a prefix in a bucket. Every change requires the lock of the backups. */
export abstract class BackupTarget {
  /** The operator's name for it. */
  abstract readonly path: string;

  /** Names the database to which the place belongs. Only that database may change it. */
  abstract readonly mark: PlaceMark;

  /**
   * Removes what dead runs have left, and reserves names for a new backup and for its trial.
   * @param spared the names of other databases' backups, which no method removes or counts
   * @throws OperatorError when it cannot be used
   */
  abstract begin(now: Date, spared?: Names): Promise<Draft>;

  /** Publishes a backup as verified, and removes the unverified ones. */
  abstract publish(draft: string, stamp: string, spared?: Names): Promise<void>;

  /** Keeps a complete backup whose verification has failed, in place of the previous such one. @returns its name */
  abstract setAside(draft: string, stamp: string, spared?: Names): Promise<string>;

  /** Removes a draft, or what is left of it. */
  abstract discard(draft: string): Promise<void>;

  /** Removes all but `keep` verified backups and returns how many. The one with the time `newest` always stays. */
  abstract prune(keep: number, newest: string, spared?: Names): Promise<number>;

  /** All backups, oldest first. @throws OperatorError when it cannot be read */
  abstract list(): Promise<ListedBackup[]>;
}

export function oldestFirst(backups: ListedBackup[]): ListedBackup[] {
  const at = ({ name, manifest }: ListedBackup): number =>
    manifest ? Date.parse(manifest.takenAt) : (parsed(name)?.time ?? Infinity);
  return backups.sort((a, b) => at(a) - at(b));
}
