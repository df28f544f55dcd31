import { Journal } from './journal.js';
import type { StateFile } from './ports.js';
import {
  type OddRow,
  remoteEntry,
  type RemoteRow,
  remoteRow,
  type StateRecord,
  syncedEntry,
  syncedRecord,
} from './state-records.js';
import type { RemoteEntry, SyncedEntry } from './trees.js';

/** A content that was sent, but may not have arrived. */
export interface Sent {
  readonly plainHash: string;
  readonly contentHash: string;
  readonly size: number;
}

export interface Identity {
  readonly folder: string;
  readonly workspace: string;
  readonly stamp: string;
  /** a stamp that the marker may already have */
  readonly next?: string;
}

/** Attempts that are remembered per path. */
const MOST_SENT = 8;
const COMPACT_ABOVE = 2_000;

/**
 * The device's knowledge of folder and server: a journal, and the state that follows from it. Every record is written after
 * the fact that it states, so a state may be outdated, but never wrong.
 */
export class FolderState {
  identity: Identity | undefined;
  /** The log position of the remote tree; undefined: unknown, start with the snapshot. */
  cursor: number | undefined;
  remote = new Map<string, RemoteEntry>();
  /** files of the server that this device cannot name, by encrypted path */
  odd = new Map<string, string>();
  readonly synced = new Map<string, SyncedEntry>();
  readonly sent = new Map<string, Sent[]>();
  /** paths whose synced state has not appeared in the log yet */
  readonly ahead = new Set<string>();
  private snapshot: { remote: Map<string, RemoteEntry>; odd: Map<string, string> } | undefined;

  private constructor(private readonly journal: Journal<StateRecord>) {}

  static async open(file: StateFile): Promise<FolderState> {
    const { journal, records } = await Journal.open<StateRecord>(file);
    const state = new FolderState(journal);
    for (const record of records) state.apply(record);
    state.snapshot = undefined; // an incomplete snapshot
    return state;
  }

  add(record: StateRecord): void {
    this.apply(record);
    this.journal.add(record);
  }

  setSynced(path: string, entry: SyncedEntry): void {
    this.add(syncedRecord(path, entry));
  }

  dropSynced(path: string): void {
    if (this.synced.has(path)) this.add({ t: 'unsynced', path });
  }

  /** From now on nothing counts as deleted, and both of two differing contents are kept. Durable at once. */
  async forget(): Promise<void> {
    this.add({ t: 'forget' });
    await this.journal.sync();
  }

  write(): Promise<void> {
    return this.journal.write();
  }

  sync(): Promise<void> {
    return this.journal.sync();
  }

  /** Rewrites the journal when most of its records are outdated. */
  async compact(): Promise<void> {
    const live = this.remote.size / 1_000 + this.synced.size + this.sent.size;
    if (this.journal.length < COMPACT_ABOVE + 3 * live) return;
    await this.journal.replace(this.records());
  }

  private *records(): Iterable<StateRecord> {
    if (this.identity) yield { t: 'stamp', ...this.identity };
    if (this.cursor !== undefined) {
      yield { t: 'snapshot' };
      const rows = Array.from(this.remote, ([path, entry]) => remoteRow(path, entry));
      for (let at = 0; at < rows.length; at += 1_000)
        yield { t: 'page', set: rows.slice(at, at + 1_000), odd: [] };
      yield { t: 'page', set: [], odd: [...this.odd] };
      yield { t: 'snapshot-end', cursor: this.cursor };
    }
    for (const [path, entry] of this.synced) yield syncedRecord(path, entry);
    for (const [path, attempts] of this.sent)
      for (const { plainHash, contentHash, size } of attempts)
        yield { t: 'sent', path, plain: plainHash, hash: contentHash, size };
  }

  private apply(record: StateRecord): void {
    if (record.t === 'stamp') this.applyStamp(record);
    else if (record.t === 'pull') this.applyPull(record);
    else if (record.t === 'snapshot') this.snapshot = { remote: new Map(), odd: new Map() };
    else if (record.t === 'page') this.setRemote(this.snapshot ?? this, record.set, record.odd);
    else if (record.t === 'snapshot-end') this.endSnapshot(record.cursor);
    else if (record.t === 'forget') this.clear();
    else this.applyToPath(record);
  }

  private applyStamp({ folder, workspace, stamp, next }: Identity): void {
    this.identity = { folder, workspace, stamp, ...(next === undefined ? {} : { next }) };
  }

  private applyPull({ cursor, set, gone, odd, oddGone }: Extract<StateRecord, { t: 'pull' }>): void {
    for (const path of gone) this.remote.delete(path);
    for (const path of oddGone) this.odd.delete(path);
    this.setRemote(this, set, odd);
    this.cursor = cursor;
  }

  private setRemote(
    to: { remote: Map<string, RemoteEntry>; odd: Map<string, string> },
    rows: readonly RemoteRow[],
    odd: readonly OddRow[],
  ): void {
    for (const row of rows) to.remote.set(row[0], remoteEntry(row));
    for (const [encryptedPath, reason] of odd) to.odd.set(encryptedPath, reason);
  }

  private endSnapshot(cursor: number): void {
    if (!this.snapshot) return;
    this.remote = this.snapshot.remote;
    this.odd = this.snapshot.odd;
    this.snapshot = undefined;
    this.cursor = cursor;
  }

  private clear(): void {
    this.cursor = undefined;
    this.snapshot = undefined;
    this.remote.clear();
    this.odd.clear();
    this.synced.clear();
    this.sent.clear();
    this.ahead.clear();
  }

  private applyToPath(record: Extract<StateRecord, { path: string }>): void {
    const { path } = record;
    if (record.t === 'sent') {
      const { plain, hash, size } = record;
      const attempts = [...(this.sent.get(path) ?? []), { plainHash: plain, contentHash: hash, size }];
      this.sent.set(path, attempts.slice(-MOST_SENT));
      return;
    }
    this.sent.delete(path);
    this.ahead.delete(path);
    if (record.t === 'unsynced') this.synced.delete(path);
    else {
      this.synced.set(path, syncedEntry(record));
      if (record.ahead) this.ahead.add(path);
    }
  }
}
