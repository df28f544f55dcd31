import { KeySessionRequired } from '../vault.js';
import { TextIndex } from './text-index.js';

/** The search index of a key session: plaintext in memory, to be dropped with the session. */
export class SessionIndex {
  notes = new TextIndex();
  /** The index contains all changes up to this cursor; undefined while it is incomplete. */
  cursor: number | undefined;
  /** The index is being built and must not be evicted. */
  isBuilding = false;

  private readonly end = new AbortController();
  private pending = 0;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    readonly sessionId: string,
    readonly accessTokenId: string | null,
    readonly workspaceId: string,
  ) {}

  /** Aborted with KeySessionRequired when the session ends: nothing more may be added then. */
  get ended(): AbortSignal {
    return this.end.signal;
  }

  drop(): void {
    this.end.abort(new KeySessionRequired());
  }

  /** Whether no work is running or queued. */
  get isIdle(): boolean {
    return this.pending === 0;
  }

  /** Discards the contents; a caller that already reads `notes` keeps the old ones. */
  evict(): void {
    this.notes = new TextIndex();
    this.cursor = undefined;
  }

  /** Runs work after all earlier work has finished, so it neither changes what another reads nor is done twice. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    this.pending++;
    const done = this.last.then(work).finally(() => {
      this.pending--;
    });
    this.last = done.catch(() => undefined).then(() => undefined);
    return done;
  }
}
