import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { getHeapStatistics } from 'node:v8';
import { TOKEN_REVOKED } from '../../auth/index.js';
import { EventBus } from '../../platform/events/index.js';
import { Log } from '../../platform/log/index.js';
import { WORKSPACE_DELETED } from '../../workspaces/index.js';
import { KEY_SESSION_ENDED, KeySessions } from '../key-sessions.service.js';
import type { Vault } from '../vault.js';
import { SessionIndex } from './session-index.js';

const LOOK_EVERY_MS = 3_000;

/** For all indexes of this instance together; less where the process may not have much memory. */
const MOST_BYTES = 256 * 1024 * 1024;
const SHARE_OF_HEAP = 1 / 4;

/**
 * The search indexes of the live key sessions on this instance, the ones used last. They go with their session: at once
 * when the bus says so, within seconds in any case.
 */
@Injectable()
export class SearchIndexes implements OnApplicationBootstrap, OnApplicationShutdown {
  /** Bytes that they may take. */
  readonly budget = Math.min(MOST_BYTES, getHeapStatistics().heap_size_limit * SHARE_OF_HEAP);

  /** By session, the one used last at the end. */
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

  /** The session's own index; an empty one when there is none. */
  of({ sessionId, accessTokenId, workspaceId }: Vault): SessionIndex {
    const index = this.all.get(sessionId) ?? new SessionIndex(sessionId, accessTokenId, workspaceId);
    this.all.delete(sessionId);
    this.all.set(sessionId, index);
    return index;
  }

  /**
   * Has those give way that have not been used for the longest time, until the rest is within the budget. One that is being
   * built stays, also when it is the one that grows; any other that grows beside it gives way itself.
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

  /** Drops those whose session has ended by itself, and those of which no event has told. */
  @Interval(LOOK_EVERY_MS)
  async dropEnded(): Promise<void> {
    if (this.all.size === 0) return;
    await this.log.bestEffort('look for ended key sessions', async () => {
      const looked = [...this.all.keys()];
      const live = await this.sessions.liveAmong(looked);
      this.dropWhere(({ sessionId }) => looked.includes(sessionId) && !live.has(sessionId));
    });
  }

  /** One that somebody works with keeps its place: what is filled must be counted. */
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
