import { setImmediate } from 'node:timers/promises';
import { Conflict } from '../platform/http/index.js';
import type { ChangeLogReader } from '../sync/index.js';
import type { LoggedChange } from '../workspaces/index.js';
import { CloseCode } from './close-codes.js';
import type { Connection } from './socket-connection.js';
import { CoalescingRunner } from '../platform/async/index.js';
import { changesMessage, frameOf } from './messages.js';

const PAGE = 1000;

/** Of encrypted paths in one message: well below what a socket may have waiting. */
const MESSAGE_BYTES = 256 * 1024;
const ROW_BYTES = 200;
/** Written to sockets at a stretch. The kernel copies what it is given: some milliseconds. */
const BYTES_PER_TURN = 4 * 1024 * 1024;
const FLUSH_MS = 100;

/**
 * Tells a room of the changes in its log, in the log's order. It reads them there, above the last one told: an event that is
 * lost, doubled, early or of a write that was rolled back can neither hide a change nor make one up. Only what this instance
 * itself has committed, and comes right after what was told, is told without a look.
 */
export class ChangeFeed {
  private readonly runs = new CoalescingRunner(() => this.bringUpToDate());
  private told: number | undefined;
  private mustLook = false;
  /** Committed here, and not told yet. */
  private committed: LoggedChange[] = [];
  private isGathering = false;

  constructor(
    private readonly workspaceId: string,
    private readonly sync: ChangeLogReader,
    private readonly members: ReadonlySet<Connection>,
  ) {}

  /** What every member has been told up to. */
  get cursor(): number {
    return this.told ?? 0;
  }

  /** Tells all that was committed before this call. @throws NotFound when the workspace has gone */
  catchUp(): Promise<void> {
    this.mustLook = true;
    return this.runs.run();
  }

  /**
   * Has a change told that this instance has committed, with others of the same turn of the event loop: those of one commit
   * share a message. The first call of a turn resolves when they are told. @throws NotFound when the workspace has gone
   */
  async catchUpWith(change: LoggedChange): Promise<void> {
    if (this.committed.length < PAGE) this.committed.push(change);
    else this.mustLook = true;
    if (this.isGathering) return;
    this.isGathering = true;
    await setImmediate();
    this.isGathering = false;
    await this.runs.run();
  }

  private async bringUpToDate(): Promise<void> {
    const { told, mustLook, committed } = this;
    this.mustLook = false;
    this.committed = [];
    try {
      if (told === undefined) this.told = (await this.sync.status(this.workspaceId)).cursor;
      else if (!mustLook && areNext(committed, told)) await this.tellAll(committed);
      else await this.read(told);
    } catch (error) {
      this.mustLook = true; // for whoever counts on this run and comes after it
      throw error;
    }
  }

  private async read(told: number): Promise<void> {
    let page = await this.pull(told);
    while (page) {
      await this.tellAll(page.changes);
      page = page.hasMore ? await this.pull(page.cursor) : undefined;
    }
    // What came meanwhile and was told by this. What is older makes the next run read: the log may have gone back.
    this.committed = this.committed.filter(({ cursor }) => cursor <= told || cursor > this.cursor);
  }

  private async tellAll(changes: readonly LoggedChange[]): Promise<void> {
    for (const part of inMessages(changes)) await this.tell(part);
  }

  /**
   * A log that is behind what was told was put back from a backup, or a standby has taken over: everybody is sent away
   * to pull, which says what to do. Undefined then.
   */
  private async pull(told: number): Promise<Awaited<ReturnType<ChangeLogReader['pull']>> | undefined> {
    try {
      return await this.sync.pull(this.workspaceId, told, PAGE);
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      for (const member of this.members) member.close(CloseCode.tryAgainLater);
      this.told = (await this.sync.status(this.workspaceId)).cursor;
      return undefined;
    }
  }

  private async tell(changes: readonly LoggedChange[]): Promise<void> {
    const cursor = changes.at(-1)?.cursor;
    if (cursor === undefined) return;
    const forAll = frameOf(changesMessage(changes, cursor));
    const forAuthors = new Map<string, Buffer | null>();
    // Of the authors those who are here: a thousand writes may come from a thousand devices.
    const here = new Set([...this.members].map(({ deviceId }) => deviceId ?? null));
    for (const author of new Set(changes.map(({ changedByDevice }) => changedByDevice))) {
      if (author === null || !here.has(author)) continue;
      const others = changes.filter(({ changedByDevice }) => changedByDevice !== author);
      forAuthors.set(author, others.length > 0 ? frameOf(changesMessage(others, cursor)) : null);
    }
    this.told = cursor;
    let written = 0;
    // A socket that joins during a pause is welcomed at this cursor, so it must not get this message.
    for (const member of [...this.members]) {
      const own = forAuthors.get(member.deviceId ?? '');
      const frame = own === undefined ? forAll : own;
      if (!frame) continue;
      member.sendFrame(frame);
      written += frame.length;
      if (written < BYTES_PER_TURN) continue;
      written = 0;
      await setImmediate();
    }
    if (forAll.length > MESSAGE_BYTES / 4) await this.flushed();
  }

  /** After much at once the members get a moment to read it, so that only those who do not read are cut off. */
  private async flushed(): Promise<void> {
    const deadline = performance.now() + FLUSH_MS;
    while (performance.now() < deadline && [...this.members].some(({ hasUnsentData }) => hasUnsentData)) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

/** Whether they come right after a cursor, without a gap. */
function areNext(changes: readonly LoggedChange[], told: number): boolean {
  return changes.every(({ cursor }, index) => cursor === told + 1 + index);
}

function* inMessages(changes: readonly LoggedChange[]): Generator<LoggedChange[]> {
  let part: LoggedChange[] = [];
  let bytes = 0;
  for (const change of changes) {
    bytes += change.encryptedPath.length + ROW_BYTES;
    if (bytes > MESSAGE_BYTES && part.length > 0) {
      yield part;
      part = [];
      bytes = change.encryptedPath.length + ROW_BYTES;
    }
    part.push(change);
  }
  if (part.length > 0) yield part;
}
