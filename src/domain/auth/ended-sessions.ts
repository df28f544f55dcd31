import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/index.js';
import { Unauthorized } from '../../platform/http/index.js';
import { Log } from '../../platform/log.js';
import { sessionStatements } from './auth.queries.js';
import { JWT_MINUTES } from './current-password.js';

/** An ended session is known everywhere within five seconds, also when one read fails, or waits for a dead connection. */
const EVERY_MS = 2_000;

/** Longer than any JWT of the session is valid; another instance's clock may be behind. */
const REMEMBERED_FOR_MS = 2 * JWT_MINUTES * 60_000;

/** Every transaction is above it. */
const BEGINNING = '0';

/** Reads at once: one may wait for a connection that is dead, until it is cut. */
const MOST_READS = 3;

type Listener = (sessionIds: ReadonlySet<string>) => void;

/** The session from which the credential came has ended: its bearer signs in again. */
export class SessionEnded extends Unauthorized {
  constructor() {
    super('the session has ended');
  }
}

/**
 * The sessions that have ended and whose JWTs have not expired yet. Every instance reads the new ones every two seconds and
 * remembers them, so that requests cost no statement; after a start it knows them before the first request.
 */
@Injectable()
export class EndedSessions implements OnApplicationBootstrap {
  /** When each may be forgotten, in elapsed milliseconds of the clock; the oldest first. */
  private readonly ended = new Map<string, number>();
  private readonly listeners: Listener[] = [];
  /** Everything that was committed by transactions below this one has been read. */
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

  /** Calls `listener` with the sessions of which this instance has just learned that they have ended. */
  onEnded(listener: Listener): void {
    this.listeners.push(listener);
  }

  @Interval(EVERY_MS)
  async look(): Promise<void> {
    await this.log.bestEffort('read which sessions have ended', () => this.readNew());
  }

  /** Reads may overlap: each has read everything since the snapshot that it began with. */
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
