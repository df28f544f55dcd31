import { Injectable } from '@nestjs/common';
import { setImmediate } from 'node:timers/promises';
import { NotFound } from '../../platform/http/index.js';
import { Connections } from './connections.js';
import { CoalescingRunner } from '../../platform/async.js';
import { frameOf } from './messages.js';
import { Rooms } from './rooms.js';
import { SendBudget } from './socket-connection.js';

const ASSETS_CHANGED = frameOf({ type: 'assets-changed' });

/** Maximum wake-ups at once: after a long gap, more would add nothing. */
const AT_ONCE = 20;

/**
 * Wakes every open socket of a workspace, including sockets that have not said hello, once per committed change of
 * its assets. It compares revisions, so a lost event loses no wake-up.
 */
@Injectable()
export class AssetFeed {
  /** Reads in progress, by workspace. */
  private readonly reads = new Map<string, CoalescingRunner>();

  constructor(
    private readonly rooms: Rooms,
    private readonly connections: Connections,
  ) {}

  /** The starting revision of a socket that is being admitted: it is notified of later commits. @throws NotFound */
  async revision(workspaceId: string): Promise<number> {
    const [head] = await this.rooms.heads([workspaceId]);
    if (!head) throw new NotFound('workspace not found');
    return head.assetsRevision;
  }

  /** Whether any socket has yet to be notified of this revision. */
  isBehind(workspaceId: string, revision: number): boolean {
    return [...this.connections.of(workspaceId)].some(({ assetsRevision }) => assetsRevision < revision);
  }

  /** Notifies sockets of all commits before this call. @throws NotFound when the workspace has been deleted */
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
    // A socket that arrives during the read may start at a newer revision than the read finds.
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
