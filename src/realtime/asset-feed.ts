import { Injectable } from '@nestjs/common';
import { setImmediate } from 'node:timers/promises';
import { NotFound } from '../platform/http/index.js';
import { Connections } from './connections.js';
import { CoalescingRunner } from '../platform/async/index.js';
import { frameOf } from './messages.js';
import { Rooms } from './rooms.js';
import { SendBudget } from './notices.js';

const ASSETS_CHANGED = frameOf({ type: 'assets-changed' });

/** After a long gap one wake-up says as much as a thousand. */
const AT_ONCE = 20;

/**
 * Wakes every open socket of a workspace, one that has not said hello too, once for every committed change of its
 * assets: by their revision, so that a lost event loses nothing.
 */
@Injectable()
export class AssetFeed {
  /** What is being read, by workspace. */
  private readonly reads = new Map<string, CoalescingRunner>();

  constructor(
    private readonly rooms: Rooms,
    private readonly connections: Connections,
  ) {}

  /** Where a socket begins that is let in now: it is told of what is committed later. @throws NotFound */
  async revision(workspaceId: string): Promise<number> {
    const [head] = await this.rooms.heads([workspaceId]);
    if (!head) throw new NotFound('workspace not found');
    return head.assetsRevision;
  }

  /** Whether a socket is still to be told of this revision. */
  isBehind(workspaceId: string, revision: number): boolean {
    return [...this.connections.of(workspaceId)].some(({ assetsRevision }) => assetsRevision < revision);
  }

  /** Tells all that was committed before this call. @throws NotFound when the workspace has gone */
  async catchUp(workspaceId: string): Promise<void> {
    if (this.connections.of(workspaceId).size === 0) return;
    const read = this.reads.get(workspaceId) ?? new CoalescingRunner(() => this.read(workspaceId));
    this.reads.set(workspaceId, read);
    try {
      await read.run();
    } finally {
      if (read.isIdle) this.reads.delete(workspaceId);
    }
  }

  private async read(workspaceId: string): Promise<void> {
    // Who comes in during the read begins at a revision that may be newer than what it finds.
    const listeners = [...this.connections.of(workspaceId)];
    const revision = await this.revision(workspaceId);
    const turn = new SendBudget();
    for (const listener of listeners) {
      const wakeUps = Math.min(Math.max(revision - listener.assetsRevision, 0), AT_ONCE);
      listener.assetsRevision = revision;
      for (let told = 0; told < wakeUps; told++) listener.sendFrame(ASSETS_CHANGED);
      if (turn.isOverWith(wakeUps)) await setImmediate();
    }
  }
}
