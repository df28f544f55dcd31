import type { Direction } from './plan.js';
import type { HeldBack } from './trees.js';

export interface Conflict {
  readonly path: string;
  /** where this device's version is now */
  readonly copy: string;
}

/** Exit code of a sync that left something for the user; the report names it. */
export const LEFT_OVER = 3;
/** Exit code of a sync that could not finish. */
export const STOPPED = 1;

/** The result of one sync. */
export class Report {
  readonly uploaded = new Set<string>();
  readonly downloaded = new Set<string>();
  /** removed here because another device deleted it */
  readonly removedHere = new Set<string>();
  /** deleted on the server because it was deleted here */
  readonly deletedThere = new Set<string>();
  readonly conflicts: Conflict[] = [];
  /** failures, each with a sentence; the next sync tries again */
  readonly failed = new Map<string, string>();
  heldBack: readonly HeldBack[] = [];
  /** files that keep changing: left to the next sync */
  unsettled: readonly string[] = [];
  /** files that wait for a blocker that does not go away */
  blocked: readonly string[] = [];
  readonly refused: Direction[] = [];
  /** why the sync ended before everything was done */
  stopped: string | undefined;
  /** the error behind `stopped` */
  cause: unknown;
  rounds = 0;
  /** files that folder and server have in common at the end */
  files = 0;
  /** whether everything was compared by content because the known state could not be relied on */
  beganAnew = false;

  /** Everything that the user should know about, by path. */
  get leftOver(): HeldBack[] {
    const failed = [...this.failed].map(([path, reason]) => ({ path, reason }));
    const changing = this.unsettled.map((path) => ({
      path,
      reason: 'it goes on changing: left to the next sync',
    }));
    const blocked = this.blocked.map((path) => ({
      path,
      reason: 'what stands in its way could not be moved or removed',
    }));
    return [...this.heldBack, ...failed, ...changing, ...blocked];
  }

  get exitCode(): number {
    if (this.stopped !== undefined) return STOPPED;
    return this.leftOver.length > 0 ? LEFT_OVER : 0;
  }

  get hasChanged(): boolean {
    return (
      this.uploaded.size + this.downloaded.size + this.removedHere.size + this.deletedThere.size > 0 ||
      this.conflicts.length > 0
    );
  }
}
