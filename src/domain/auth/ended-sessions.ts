import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/index.js';
import { Unauthorized } from '../../platform/http/index.js';
import { Log } from '../../platform/log.js';
import { sessionStatements } from './auth.queries.js';
import { JWT_MINUTES } from './current-password.js';

/** Every instance knows of an ended session within five seconds, even if one read fails or waits for a dead connection. */
const EVERY_MS = 2_000;

/** Longer than any JWT of the session is valid; another instance's clock may be behind. */
const REMEMBERED_FOR_MS = 2 * JWT_MINUTES * 60_000;

/** Below every transaction id. */
const BEGINNING = '0';

/** Concurrent reads: one may wait for a dead connection until that is cut. */
const MOST_READS = 3;

type Listener = (sessionIds: ReadonlySet<string>) => void;

/** The session that the credential came from has ended; the client must sign in again. */
export class SessionEnded extends Unauthorized {
  constructor() {
    super('the session has ended');
  }
}

/**
 * The ended sessions whose JWTs may not have expired yet. Every instance reads new ones every two seconds and keeps them in
 * memory, so that requests run no statement; an instance that starts reads them before its first request.
 */
@Injectable()
export class EndedSessions implements OnApplicationBootstrap {
  /** When each may be removed, in elapsed milliseconds of the clock; oldest first. */
  private readonly ended = new Map<string, number>();
  private readonly listeners: Listener[] = [];
  /** The transaction id below which everything committed has been read. */
  private since = BEGINNING;
  private reads = 0;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.readNew();
  }

  has(sessionId: string): boolean {
    return this.ended.has(sessionId);
  }

  /** Calls `listener` with ended sessions as soon as this instance has read them. */
  onEnded(listener: Listener): void {
    this.listeners.push(listener);
  }

  @Interval(EVERY_MS)
  async look(): Promise<void> {
    await this.log.bestEffort('read which sessions have ended', () => this.readNew());
  }

  /** Reads may overlap: each reads everything from the `since` that it started with. */
  private async readNew(): Promise<void> {
    if (this.reads === MOST_READS) return;
    this.reads++;
    const { since } = this;
    const [found] = await this.database
      .run<{ next: string; ids: string | null }>(sessionStatements.endedSince, [since])
      .finally(() => this.reads--);
    if (!found) return;
    this.remember(found.ids?.split(',') ?? []);
    const next = BigInt(found.next);
    const isRewound = next < BigInt(since); // the database was replaced by a standby that was behind
    if (isRewound || next > BigInt(this.since)) this.since = isRewound ? BEGINNING : found.next;
    if (isRewound) await this.readNew();
  }

  private remember(ids: readonly string[]): void {
    const now = this.clock.elapsed();
    const added = new Set(ids.filter((id) => !this.ended.has(id)));
    for (const id of added) this.ended.set(id, now + REMEMBERED_FOR_MS);
    for (const [id, until] of this.ended) {
      if (until > now) break;
      this.ended.delete(id);
    }
    if (added.size > 0) for (const listener of this.listeners) listener(added);
  }
}
