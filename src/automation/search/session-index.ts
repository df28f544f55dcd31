import { KeySessionRequired } from '../vault.js';
import { TextIndex } from './text-index.js';

/** What a key session searches in: plaintext in memory, to be dropped with the session. */
export class SessionIndex {
  notes = new TextIndex();
  /** Up to here every change is in the index; undefined while it is not complete. */
  cursor: number | undefined;
  /** It is being filled from the beginning, and gives way to no other. */
  isBuilding = false;

  private readonly end = new AbortController();
  private pending = 0;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    readonly sessionId: string,
    readonly accessTokenId: string | null,
    readonly workspaceId: string,
  ) {}

  /** Aborted with KeySessionRequired when the session has ended: nothing more may come in. */
  get ended(): AbortSignal {
    return this.end.signal;
  }

  drop(): void {
    this.end.abort(new KeySessionRequired());
  }

  /** Nobody is at work with it, or waits to be. */
  get isIdle(): boolean {
    return this.pending === 0;
  }

  /** Lets go of all that is in it: who reads `notes` at this moment has the old ones to the end. */
  evict(): void {
    this.notes = new TextIndex();
    this.cursor = undefined;
  }

  /** Does work when all that was asked for before is done: it neither changes what another reads, nor is done twice. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    this.pending++;
    const done = this.last.then(work).finally(() => {
      this.pending--;
    });
    this.last = done.catch(() => undefined).then(() => undefined);
    return done;
  }
}
