import { setImmediate } from 'node:timers/promises';
import { Conflict } from '../../platform/http/index.js';
import type { ChangeLogReader } from '../sync/index.js';
import type { LoggedChange } from '../workspaces/index.js';
import { CloseCode, type Connection } from './socket-connection.js';
import { CoalescingRunner } from '../../platform/async.js';
import { changesMessage, frameOf } from './messages.js';

const PAGE = 1000;

/** Maximum bytes of encrypted paths in one message: well below the send buffer limit of a socket. */
const MESSAGE_BYTES = 256 * 1024;
const ROW_BYTES = 200;
/** Maximum bytes written to sockets before yielding. The kernel copies them, which takes a few milliseconds. */
const BYTES_PER_TURN = 4 * 1024 * 1024;
const FLUSH_MS = 100;

/**
 * Sends a room the changes of its log, in log order. It reads the log above the last change sent, so an event that is
 * lost, duplicated, early or from a rolled-back write can neither hide a change nor invent one. Only changes that
 * this instance itself has committed, and that directly follow the last one sent, are sent without reading the log.
 */
export class ChangeFeed {
  private readonly runs = new CoalescingRunner(() => this.bringUpToDate());
  private told: number | undefined;
  private mustLook = false;
  /** Changes committed by this instance and not yet sent. */
  private committed: LoggedChange[] = [];
  private isGathering = false;

  constructor(
    private readonly workspaceId: string,
    private readonly sync: ChangeLogReader,
    private readonly members: ReadonlySet<Connection>,
  ) {}

  /** The cursor up to which every member has been notified. */
  get cursor(): number {
    return this.told ?? 0;
  }

  /** Sends all changes committed before this call. @throws NotFound when the workspace has been deleted */
  catchUp(): Promise<void> {
    this.mustLook = true;
    return this.runs.run();
  }

  /**
   * Sends a change that this instance has committed, batched with others of the same event loop turn, so the changes
   * of one commit share a message. The first call of a turn resolves when they have been sent.
   * @throws NotFound when the workspace has been deleted
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
      else if (!mustLook && isContiguous(committed, told)) await this.tellAll(committed);
      else await this.read(told);
    } catch (error) {
      this.mustLook = true; // callers that relied on this run must be served by the next one
      throw error;
    }
  }

  private async read(told: number): Promise<void> {
    let page = await this.pull(told);
    while (page) {
      await this.tellAll(page.changes);
      page = page.hasMore ? await this.pull(page.cursor) : undefined;
    }
    // Drop changes that arrived meanwhile and were sent by this read. Keep older ones, which make the next run read
    // the log: it may have moved backwards.
    this.committed = this.committed.filter(({ cursor }) => cursor <= told || cursor > this.cursor);
  }

  private async tellAll(changes: readonly LoggedChange[]): Promise<void> {
    for (const part of inMessages(changes)) await this.tell(part);
  }

  /**
   * Returns undefined when the log is behind what was sent, because a backup was restored or a standby has taken over. Then all
   * members are disconnected: they pull after reconnecting, and the answer tells them what to do.
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
    // Only authors that are connected here: a thousand writes may come from a thousand devices.
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

  /** After a large send, gives members a moment to read, so that only clients that do not read are disconnected. */
  private async flushed(): Promise<void> {
    const deadline = performance.now() + FLUSH_MS;
    while (performance.now() < deadline && [...this.members].some(({ hasUnsentData }) => hasUnsentData)) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

/** Whether the changes directly follow a cursor, without a gap. */
function isContiguous(changes: readonly LoggedChange[], told: number): boolean {
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
