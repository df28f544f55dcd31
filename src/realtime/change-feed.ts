import type { Change, ChangeLogReader } from '../sync/index.js';
import { Conflict } from '../platform/http/index.js';
import { CloseCode } from './close-codes.js';
import type { Connection } from './connection.js';
import { CoalescingRunner } from '../platform/async/index.js';
import { changesMessage, encode } from './messages.js';

const PAGE = 1000;

/** Of encrypted paths in one message: well below what a socket may have waiting. */
const MESSAGE_BYTES = 256 * 1024;
const ROW_BYTES = 200;
const FLUSH_MS = 100;

/**
 * Tells a room of the changes in its log. It reads them from the log itself, above the last one told: an event that is
 * lost, doubled, early or of a write that was rolled back can neither hide a change nor make one up.
 */
export class ChangeFeed {
  private readonly reads = new CoalescingRunner(() => this.read());
  private told: number | undefined;

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
    return this.reads.run();
  }

  private async read(): Promise<void> {
    if (this.told === undefined) {
      this.told = (await this.sync.status(this.workspaceId)).cursor;
      return;
    }
    for (let hasMore = true; hasMore;) {
      const page = await this.pull(this.told);
      if (!page) return;
      for (const part of inMessages(page.changes)) await this.tell(part);
      hasMore = page.hasMore;
    }
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

  private async tell(changes: readonly Change[]): Promise<void> {
    const cursor = changes.at(-1)?.cursor;
    if (cursor === undefined) return;
    const forAll = encode(changesMessage(changes, cursor));
    const forAuthors = new Map<string, Buffer | null>();
    // Of the authors those who are here: a thousand writes may come from a thousand devices.
    const here = new Set([...this.members].map(({ deviceId }) => deviceId ?? null));
    for (const author of new Set(changes.map(({ changedByDevice }) => changedByDevice))) {
      if (author === null || !here.has(author)) continue;
      const others = changes.filter(({ changedByDevice }) => changedByDevice !== author);
      forAuthors.set(author, others.length > 0 ? encode(changesMessage(others, cursor)) : null);
    }
    this.told = cursor;
    for (const member of this.members) {
      const own = forAuthors.get(member.deviceId ?? '');
      const message = own === undefined ? forAll : own;
      if (message) member.sendEncoded(message);
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

function* inMessages(changes: readonly Change[]): Generator<Change[]> {
  let part: Change[] = [];
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
