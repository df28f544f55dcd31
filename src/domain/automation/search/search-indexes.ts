import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { getHeapStatistics } from 'node:v8';
import { EventBus } from '../../../platform/events/index.js';
import { Log } from '../../../platform/log.js';
import { TOKEN_REVOKED } from '../../auth/index.js';
import { WORKSPACE_DELETED } from '../../workspaces/index.js';
import { KeySessionRequired, type Vault } from '../contents.js';
import { KEY_SESSION_ENDED, KeySessions } from '../key-sessions.service.js';
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

const LOOK_EVERY_MS = 3_000;

/** For all indexes of this instance together; less when the heap limit is small. */
const MOST_BYTES = 256 * 1024 * 1024;
const SHARE_OF_HEAP = 1 / 4;

/**
 * The search indexes of live key sessions on this instance, least recently used first. An index is dropped with its session: at
 * once on a bus event, otherwise within seconds.
 */
@Injectable()
export class SearchIndexes implements OnApplicationBootstrap, OnApplicationShutdown {
  /** The memory budget of all indexes, in bytes. */
  readonly budget = Math.min(MOST_BYTES, getHeapStatistics().heap_size_limit * SHARE_OF_HEAP);

  /** By session, most recently used last. */
  private readonly all = new Map<string, SessionIndex>();

  constructor(
    private readonly sessions: KeySessions,
    private readonly bus: EventBus,
    private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    this.bus.on(KEY_SESSION_ENDED, (id) => this.dropWhere(({ sessionId }) => sessionId === id));
    this.bus.on(TOKEN_REVOKED, (id) => this.dropWhere(({ accessTokenId }) => accessTokenId === id));
    this.bus.on(WORKSPACE_DELETED, (id) => this.dropWhere(({ workspaceId }) => workspaceId === id));
    this.bus.onGap(() => void this.dropEnded());
  }

  onApplicationShutdown(): void {
    this.dropWhere(() => true);
  }

  get size(): number {
    return this.all.size;
  }

  /** The index of the session, created empty if there is none. */
  of({ sessionId, accessTokenId, workspaceId }: Vault): SessionIndex {
    const index = this.all.get(sessionId) ?? new SessionIndex(sessionId, accessTokenId, workspaceId);
    this.all.delete(sessionId);
    this.all.set(sessionId, index);
    return index;
  }

  /**
   * Evicts the least recently used indexes until the rest fits into the budget. An index that is being built is never
   * evicted, even if it is the one growing; any other index that grows during a build is evicted itself.
   */
  makeRoomFor(growing: SessionIndex): void {
    let bytes = 0;
    for (const { notes } of this.all.values()) bytes += notes.bytes;
    for (const index of this.all.values()) {
      if (bytes <= this.budget) return;
      if (index === growing || index.isBuilding) continue;
      bytes -= index.notes.bytes;
      this.empty(index);
    }
    const isBesideBuilding = [...this.all.values()].some((index) => index.isBuilding && index !== growing);
    if (bytes > this.budget && isBesideBuilding && !growing.isBuilding) this.empty(growing);
  }

  /** Drops indexes whose session has expired, or has ended without an event. */
  @Interval(LOOK_EVERY_MS)
  async dropEnded(): Promise<void> {
    if (this.all.size === 0) return;
    await this.log.bestEffort('check for ended key sessions', async () => {
      const looked = [...this.all.keys()];
      const live = await this.sessions.liveAmong(looked);
      this.dropWhere(({ sessionId }) => looked.includes(sessionId) && !live.has(sessionId));
    });
  }

  /** An index in use stays in the map: its memory must be counted. */
  private empty(index: SessionIndex): void {
    index.evict();
    if (index.isIdle) this.all.delete(index.sessionId);
  }

  private dropWhere(isMeant: (index: SessionIndex) => boolean): void {
    for (const index of this.all.values()) {
      if (!isMeant(index)) continue;
      index.drop();
      this.all.delete(index.sessionId);
    }
  }
}
