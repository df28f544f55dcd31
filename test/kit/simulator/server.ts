import { NeedsBootstrap } from '../../../client/src/folder/errors.js';
import type {
  Deletion,
  Pulled,
  Pushed,
  RemoteChange,
  SnapshotPage,
  Upload,
  Uploaded,
} from '../../../client/src/folder/ports.js';
import { textOf } from './cipher.js';

interface Version {
  readonly contentHash: string;
  readonly version: number;
  readonly envelope: Uint8Array;
}
interface File {
  readonly id: number;
  readonly versions: readonly Version[];
  readonly isDeleted: boolean;
}
type Row = RemoteChange & { readonly cursor: number; readonly device: string };
interface Contents {
  readonly files: ReadonlyMap<string, File>;
  readonly log: readonly Row[];
}

const PULLED = 3;
const PAGE = 2;

/** A model of the service: the routes of the log and of files, without HTTP. */
export class SimulatedServer {
  head = 0;
  floor = 0;
  private files = new Map<string, File>();
  private log: Row[] = [];
  private saved: Contents = { files: new Map(), log: [] };

  /** Every content in the history. */
  texts(): ReadonlySet<string> {
    const texts = new Set<string>();
    for (const { versions } of this.files.values())
      for (const { envelope } of versions) texts.add(textOf(envelope));
    return texts;
  }

  /** Every live content, by encrypted path. */
  live(): Map<string, string> {
    const live = [...this.files].filter(([, { isDeleted }]) => !isDeleted);
    return new Map(live.map(([path, { versions }]) => [path, textOf(versions.at(-1)!.envelope)]));
  }

  backUp(): void {
    this.saved = { files: new Map(this.files), log: [...this.log] };
  }

  /** Restores the backup. The head advances by a gap, so that no earlier cursor is valid. */
  putBack(): void {
    this.files = new Map(this.saved.files);
    this.log = [...this.saved.log];
    this.head += 1_000;
  }

  compact(): void {
    this.floor = this.head;
    this.log = [];
  }

  /** Loses the blob of the live version. */
  loseBlob(encryptedPath: string): void {
    this.lost.add(encryptedPath);
  }
  readonly lost = new Set<string>();

  pull(cursor: number): Pulled {
    const isKnown =
      cursor === 0 ||
      cursor === this.head ||
      this.log.some((row) => row.cursor === cursor || row.cursor === cursor + 1);
    if (cursor > this.head || cursor < this.floor || !isKnown) throw new NeedsBootstrap();
    const rows = this.log.filter((row) => row.cursor > cursor);
    const changes = rows.slice(0, PULLED);
    return { changes, cursor: changes.at(-1)?.cursor ?? cursor, hasMore: rows.length > PULLED };
  }

  snapshot(after: number): SnapshotPage {
    const live = [...this.files].filter(([, file]) => !file.isDeleted && file.id > after);
    live.sort(([, a], [, b]) => a.id - b.id);
    const page = live.slice(0, PAGE);
    const files = page.map(([encryptedPath, { versions }]) => this.stated(encryptedPath, versions.at(-1)!));
    const nextPageCursor = live.length > PAGE ? String(page.at(-1)![1].id) : null;
    return { files, cursor: this.head, nextPageCursor };
  }

  download(encryptedPath: string): Version | undefined {
    const file = this.files.get(encryptedPath);
    return file && !file.isDeleted && !this.lost.has(encryptedPath) ? file.versions.at(-1) : undefined;
  }

  upload(
    device: string,
    { encryptedPath, contentHash, envelope, base }: Upload & { envelope: Uint8Array },
  ): Uploaded {
    const file = this.files.get(encryptedPath);
    const live = file && !file.isDeleted ? file.versions.at(-1) : undefined;
    if (live?.contentHash === contentHash)
      return { encryptedPath, status: 'stored', contentHash, version: live.version };
    if (live?.contentHash !== base) return { encryptedPath, status: 'overtaken' };
    const version = { contentHash, envelope, version: (file?.versions.at(-1)?.version ?? 0) + 1 };
    this.lost.delete(encryptedPath);
    this.append(device, encryptedPath, [...(file?.versions ?? []), version], false);
    return { encryptedPath, status: 'stored', contentHash, version: version.version };
  }

  /** Adds a version with the content of an old one, even to a deleted file. */
  restore(device: string, encryptedPath: string, index: number): void {
    const versions = this.files.get(encryptedPath)?.versions ?? [];
    const old = versions[index % Math.max(1, versions.length)];
    if (!old) return;
    this.lost.delete(encryptedPath);
    this.append(
      device,
      encryptedPath,
      [...versions, { ...old, version: versions.at(-1)!.version + 1 }],
      false,
    );
  }

  push(device: string, baseCursor: number, deletions: readonly Deletion[]): Pushed {
    const accepted: string[] = [];
    const conflicts: string[] = [];
    for (const { encryptedPath } of deletions) {
      const file = this.files.get(encryptedPath);
      const isChanged = this.log.some(
        (row) => row.encryptedPath === encryptedPath && row.cursor > baseCursor && row.device !== device,
      );
      if (!file || file.isDeleted) accepted.push(encryptedPath);
      else if (isChanged) conflicts.push(encryptedPath);
      else {
        this.append(device, encryptedPath, file.versions, true);
        accepted.push(encryptedPath);
      }
    }
    return { accepted, conflicts };
  }

  private append(device: string, path: string, versions: readonly Version[], isDeleted: boolean): void {
    const id = this.files.get(path)?.id ?? this.files.size + 1;
    this.files.set(path, { id, versions, isDeleted });
    this.head++;
    const action = isDeleted ? 'delete' : 'upsert';
    this.log.push({ ...this.stated(path, versions.at(-1)!), action, cursor: this.head, device });
  }

  private stated(encryptedPath: string, { contentHash, envelope, version }: Version) {
    return { encryptedPath, contentHash, encryptedSize: envelope.length, version };
  }
}
