import type { Stat } from './ports.js';
import type { RemoteEntry, SyncedEntry } from './trees.js';

/** [path, contentHash, encryptedSize, version] */
export type RemoteRow = readonly [string, string, number, number];
/** [encryptedPath, reason] */
export type OddRow = readonly [string, string];
/** [mtimeNs, ctimeNs, ino] */
type StatRow = readonly [string, string, string];

/** A line of a folder's journal. */
export type StateRecord =
  /** Identifies folder, vault and session. `next`: a stamp that the marker may already have. */
  | { t: 'stamp'; folder: string; workspace: string; stamp: string; next?: string }
  | { t: 'pull'; cursor: number; set: RemoteRow[]; gone: string[]; odd: OddRow[]; oddGone: string[] }
  /** A snapshot is valid only with its `snapshot-end`. */
  | { t: 'snapshot' }
  | { t: 'page'; set: RemoteRow[]; odd: OddRow[] }
  | { t: 'snapshot-end'; cursor: number }
  | {
      t: 'synced';
      path: string;
      plain: string;
      hash: string;
      version: number;
      size: number;
      stat?: StatRow;
      ahead?: true;
    }
  | { t: 'unsynced'; path: string }
  /** This content was sent to the server; it may arrive although its answer is lost. */
  | { t: 'sent'; path: string; plain: string; hash: string; size: number }
  | { t: 'forget' };

export const remoteRow = (path: string, { contentHash, encryptedSize, version }: RemoteEntry): RemoteRow => [
  path,
  contentHash,
  encryptedSize,
  version,
];

export const remoteEntry = ([, contentHash, encryptedSize, version]: RemoteRow): RemoteEntry => ({
  contentHash,
  encryptedSize,
  version,
});

export function syncedRecord(path: string, entry: SyncedEntry): StateRecord {
  const { plainHash, contentHash, version, size, stat, isAhead } = entry;
  const row = stat && ([String(stat.mtimeNs), String(stat.ctimeNs), String(stat.ino)] as const);
  const record = { t: 'synced', path, plain: plainHash, hash: contentHash, version, size } as const;
  return { ...record, ...(row ? { stat: row } : {}), ...(isAhead ? { ahead: true } : {}) };
}

export function syncedEntry(record: Extract<StateRecord, { t: 'synced' }>): SyncedEntry {
  const { plain, hash, version, size, stat, ahead } = record;
  const entry = { plainHash: plain, contentHash: hash, version, size, stat: stat && statOf(size, stat) };
  return ahead ? { ...entry, isAhead: true } : entry;
}

const statOf = (size: number, [mtimeNs, ctimeNs, ino]: StatRow): Stat => ({
  kind: 'file',
  size,
  mtimeNs: BigInt(mtimeNs),
  ctimeNs: BigInt(ctimeNs),
  ino: BigInt(ino),
});
