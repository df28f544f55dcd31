import type { AccountUnderTest } from './account-under-test.js';
import type { Caller, Operation } from './operations.js';
import { timeOf } from './words.js';
import { fileAt, living, liveFileAt, newest, type State } from './state.js';

/** Picks are 0 to 20; only those from here on may name what does not exist. */
const MOSTLY = 19;

/** The caller of an intention; the tokens of the owner are numbered in the order of their creation. */
export type Somebody = Exclude<Caller, `token ${number}`> | number;

/** Resolves intentions such as "some checkpoint" to existing names, and sometimes to names that are gone. */
export class View {
  private readonly counts: Map<string, number>;

  constructor(
    private readonly state: State,
    private readonly account: AccountUnderTest,
    counts: Map<string, number>,
    /** An operation that is sent together with this one, when both are to be in the same place. */
    private readonly beside?: Operation,
  ) {
    this.counts = counts;
  }

  besides(operation: Operation): View {
    return new View(this.state, this.account, this.counts, operation);
  }

  /** A name that was never used. */
  fresh(kind: string): string {
    const count = (this.counts.get(kind) ?? 0) + 1;
    this.counts.set(kind, count);
    return `${kind} ${count}`;
  }

  caller(somebody: Somebody): Caller {
    if (typeof somebody !== 'number') return somebody;
    const made = this.counts.get('token') ?? 0;
    return made === 0 ? 'owner' : `token ${1 + (somebody % made)}`;
  }

  /** Mostly one that exists. */
  workspace(pick: number): string {
    if (this.beside && 'workspace' in this.beside && this.beside.workspace !== null)
      return this.beside.workspace;
    const names = living(this.state).map(({ name }) => name);
    const made = this.counts.get('workspace') ?? 0;
    return (pick < MOSTLY && names[pick % names.length]) || `workspace ${1 + (pick % made)}`;
  }

  path(path: string): string {
    if (!this.beside) return path;
    if ('path' in this.beside) return this.beside.path;
    return ('items' in this.beside && this.beside.items[0]?.path) || path;
  }

  /** The same, but preferably a path that had a file before. */
  knownPath(workspace: string, wanted: string): string {
    const path = this.path(wanted);
    const known = this.in(workspace)?.files.map((file) => file.path) ?? [];
    return known.includes(path) ? path : (known[path.length % (known.length + 1)] ?? path);
  }

  /** Preferably the token of an existing asset. */
  knownAsset(workspace: string, wanted: string): string {
    const known = this.in(workspace)?.assets.map(({ token }) => token) ?? [];
    const [first = wanted] = known;
    return wanted === 'Z' || known.includes(wanted) ? wanted : first;
  }

  /** Mostly a version that the path has had. */
  version(workspace: string, path: string, pick: number): number {
    const newest = this.file(workspace, path)?.version ?? 0;
    return pick < MOSTLY && newest > 0 ? 1 + (pick % newest) : newest + 1;
  }

  checkpoint(workspace: string, pick: number): string {
    const names = this.in(workspace)?.checkpoints.map(({ name }) => name) ?? [];
    return (pick < MOSTLY && names[pick % names.length]) || `checkpoint ${1 + (pick % 5)}`;
  }

  /** The time for a condition on a slot. */
  slotTime(workspace: string, slot: string): string {
    const found = this.in(workspace)?.slots.find(({ id }) => id === slot);
    return timeOf(found?.updatedAt ?? 0);
  }

  head(workspace: string): number {
    return this.in(workspace)?.log.length ?? 0;
  }

  liveContent(workspace: string, path: string): string | undefined {
    const found = this.in(workspace);
    const file = found && liveFileAt(found, path);
    return file && newest(file).content;
  }

  cursor(workspace: string, device: string): number {
    return this.account.follower(workspace, device).cursor;
  }

  walkedUntil(workspace: string, device: string): string | null {
    return this.account.follower(workspace, device).after;
  }

  private file(workspace: string, path: string): ReturnType<typeof fileAt> {
    const found = this.in(workspace);
    return found && fileAt(found, path);
  }

  private in(workspace: string): State['workspaces'][number] | undefined {
    return living(this.state).find(({ name }) => name === workspace);
  }
}
