import { KeyedCounter } from '../../platform/async.js';
import type { RequestScope } from '../../platform/log.js';
import { callerKey } from '../../access/index.js';
import type { Put, PutOutcome } from './upload-writer.js';

/** An upload that waits for a commit. */
export interface Waiting {
  readonly owner: string;
  /** Whether it counts towards the owner's limit; an upload of a batch does not. */
  readonly isCounted: boolean;
  /** In ms, from `Clock.elapsed`. */
  readonly since: number;
  readonly put: Put;
  readonly scope: RequestScope | undefined;
  readonly resolve: (outcome: PutOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** Limits of a commit: uploads, and inline bytes. A single upload may exceed COMMIT_BYTES. */
export const COMMIT_UPLOADS = 64;
export const COMMIT_BYTES = 1024 * 1024;

/**
 * The waiting uploads, one line per workspace. Only one commit at a time takes uploads from a line; between commits the line is
 * ready. From each line, a commit takes uploads of one caller to different paths, in order of arrival.
 */
export class UploadLines {
  private readonly lines = new Map<string, Waiting[]>();
  /** Workspaces whose line is not empty and in no commit, the most recently served last. */
  private readonly ready = new Set<string>();

  /** @param counts by owner, the number of uploads that are not yet in a commit, without those of batches */
  constructor(private readonly counts = new KeyedCounter()) {}

  /** Whether any line has uploads for a commit. */
  get isReady(): boolean {
    return this.ready.size > 0;
  }

  add(waiting: Waiting): void {
    const { workspaceId } = waiting.put;
    if (waiting.isCounted) this.counts.increment(waiting.owner);
    const line = this.lines.get(workspaceId);
    if (line) {
      line.push(waiting);
      return;
    }
    this.lines.set(workspaceId, [waiting]);
    this.ready.add(workspaceId);
  }

  /**
   * Takes the uploads of the next commit from the ready lines; their lines stay in that commit until `release`. Owners take
   * turns, and so do the lines of one owner. Uploads of one workspace are adjacent, in order.
   */
  take(): Waiting[] {
    const owners = this.readyByOwner();
    const lines = [...owners.values()].flat();
    const batch = new Batch();
    for (const line of inTurns(owners)) if (!line.giveTo(batch)) break;
    return lines.flatMap((line) => {
      const uploads = line.cut();
      if (uploads.length > 0) this.ready.delete(line.workspaceId);
      return this.counted(uploads);
    });
  }

  /** Takes the next uploads of one workspace, whose line is already in the caller's commit. */
  takeOf(workspaceId: string): Waiting[] {
    const batch = new Batch();
    const line = new Line(workspaceId, this.lines.get(workspaceId) ?? []);
    while (line.hasNext && line.giveTo(batch));
    return this.counted(line.cut());
  }

  /** Ends a commit: the line is ready again, or is removed when it is empty. */
  release(workspaceId: string): void {
    if (this.lines.get(workspaceId)?.length) this.ready.add(workspaceId);
    else this.lines.delete(workspaceId);
  }

  /** Removes and returns the uploads of all ready lines, or of one line, that have waited since before `time`. */
  dropBefore(time: number, workspaceIds: Iterable<string> = [...this.ready]): Waiting[] {
    return [...workspaceIds].flatMap((workspaceId) => {
      const line = this.lines.get(workspaceId) ?? [];
      const onTime = line.findIndex(({ since }) => since >= time);
      const late = this.counted(line.splice(0, onTime < 0 ? line.length : onTime));
      if (line.length === 0 && this.ready.delete(workspaceId)) this.lines.delete(workspaceId);
      return late;
    });
  }

  private readyByOwner(): Map<string, Line[]> {
    const owners = new Map<string, Line[]>();
    for (const workspaceId of this.ready) {
      const waiting = this.lines.get(workspaceId) ?? [];
      const owner = waiting[0]?.owner ?? '';
      const line = new Line(workspaceId, waiting);
      const lines = owners.get(owner);
      if (lines) lines.push(line);
      else owners.set(owner, [line]);
    }
    return owners;
  }

  private counted(batch: Waiting[]): Waiting[] {
    for (const { owner, isCounted } of batch) if (isCounted) this.counts.decrement(owner);
    return batch;
  }
}

/** The uploads that a commit takes from one line. */
class Line {
  private readonly paths = new Set<string>();
  private count = 0;

  constructor(
    readonly workspaceId: string,
    private readonly waiting: Waiting[],
  ) {}

  /** Whether the next upload has the same caller as the first, and a path that is not taken yet. */
  get hasNext(): boolean {
    const next = this.waiting[this.count]?.put;
    return (
      next !== undefined && keyOf(next) === keyOf(this.waiting[0]?.put) && !this.paths.has(next.encryptedPath)
    );
  }

  /** @returns false when there is no room in the batch */
  giveTo(batch: Batch): boolean {
    const next = this.waiting[this.count]?.put;
    if (!next || !batch.add(next)) return false;
    this.paths.add(next.encryptedPath);
    this.count++;
    return true;
  }

  cut(): Waiting[] {
    return this.waiting.splice(0, this.count);
  }
}

/** The size of a commit: at least one upload, at most COMMIT_UPLOADS and, beyond the first, COMMIT_BYTES. */
class Batch {
  private rows = 0;
  private bytes = 0;

  /** @returns false when there is no room for the upload */
  add({ bytes: inline }: Put): boolean {
    const bytes = this.bytes + (inline?.length ?? 0);
    if (this.rows === COMMIT_UPLOADS || (this.rows > 0 && bytes > COMMIT_BYTES)) return false;
    this.rows++;
    this.bytes = bytes;
    return true;
  }
}

/** Owners take turns, and so do the lines of each. Ends when no line has another upload. */
function* inTurns(owners: Map<string, Line[]>): Generator<Line> {
  while (owners.size > 0)
    for (const [owner, lines] of owners) {
      const line = lines.shift();
      if (line?.hasNext) {
        yield line;
        lines.push(line);
      } else if (!line) owners.delete(owner);
    }
}

const keyOf = (put: Put | undefined): string | undefined => put?.caller && callerKey(put.caller);
