import { Injectable } from '@nestjs/common';
import { KeyedCounter } from '../../../platform/async.js';
import { Log } from '../../../platform/log.js';
import { type Counter, Metrics } from '../../../platform/metrics.js';
import { type ClaimedPush, PushQueue } from './push-queue.js';
import { PushSender } from './push-sender.js';

const MAX_AT_ONCE = 32;

/** An owner whose endpoints are slow delays only that owner's pushes. */
const MAX_OF_ONE_OWNER = 4;

/** The time that pushes in progress get at shutdown. */
const GRACE_MS = 1_000;

/** Returns the devices that have a live socket in the workspace. */
export type LiveCheck = (workspaceId: string, deviceIds: readonly string[]) => Promise<ReadonlySet<string>>;

/** Claims and sends pushes that are due, with limits on concurrent pushes in total and per owner. */
@Injectable()
export class PushDispatcher {
  private readonly results: Counter;
  private readonly liveChecks: LiveCheck[] = [];
  private readonly sending = new Set<Promise<void>>();
  /** The number of pushes in progress for each owner. */
  private readonly underWay = new KeyedCounter();
  /** Whether pushes may be due that exceeded the limits; `onCapacity` is called once there is capacity. */
  private hasBacklog = false;
  private isStopped = false;
  private onCapacity: () => void = () => undefined;

  constructor(
    private readonly queue: PushQueue,
    private readonly sender: PushSender,
    private readonly log: Log,
    metrics: Metrics,
  ) {
    this.results = metrics.counter(
      'cloud_sync_pushes_total',
      'Web Push attempts, by outcome: delivered, gone or failed',
      ['outcome'],
    );
  }

  skipWhen(check: LiveCheck): void {
    this.liveChecks.push(check);
  }

  /** @param onRoom called when due pushes that exceeded the limits can be started */
  whenCapacity(onRoom: () => void): void {
    this.onCapacity = onRoom;
  }

  /** Starts pushes that are due, up to the limits. Must not be called while it runs. */
  async startDue(): Promise<void> {
    this.hasBacklog = false;
    while (!this.isStopped) {
      const room = MAX_AT_ONCE - this.sending.size;
      // Set before the claim: a push that ends during the claim must cause another one.
      this.hasBacklog =
        room === 0 || [...this.underWay.entries()].some(([, count]) => count >= MAX_OF_ONE_OWNER);
      if (room === 0) return;
      const due = await this.queue.claim(room, MAX_OF_ONE_OWNER, new Map(this.underWay.entries()));
      for (const push of await this.withoutLive(due)) this.start(push);
      if (due.length === 0) return;
    }
  }

  /** Resolves when all pushes started so far have been attempted; one that ends may let another start. */
  async finish(): Promise<void> {
    await Promise.all(this.sending);
  }

  /** Whether nothing is being sent and nothing waits for capacity. */
  get isIdle(): boolean {
    return this.sending.size === 0 && !this.hasBacklog;
  }

  /**
   * Starts no more pushes. Pushes that do not end within the grace period are aborted and count as failed: they will be retried.
   */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.hasBacklog = false;
    const cutOff = setTimeout(() => this.sender.stop(), GRACE_MS);
    await Promise.all(this.sending);
    clearTimeout(cutOff);
  }

  private start(push: ClaimedPush): void {
    this.underWay.increment(push.ownerId);
    const sent = this.log
      .bestEffort('store the result of a push', () => this.deliver(push))
      .then(() => {
        this.sending.delete(sent);
        this.underWay.decrement(push.ownerId);
        if (this.hasBacklog) this.onCapacity();
      });
    this.sending.add(sent);
  }

  private async deliver(push: ClaimedPush): Promise<void> {
    const result = await this.sender.send(push);
    this.results.add({ outcome: result.outcome });
    if (result.outcome === 'failed') {
      const { workspaceId, deviceId } = push;
      this.log.warn({ workspaceId, deviceId, reason: result.reason }, 'a push was not delivered');
    }
    await this.queue.settle(push, result);
  }

  private async withoutLive(pushes: ClaimedPush[]): Promise<ClaimedPush[]> {
    const asleep: ClaimedPush[] = [];
    for (const workspaceId of new Set(pushes.map((push) => push.workspaceId))) {
      const concerned = pushes.filter((push) => push.workspaceId === workspaceId);
      const deviceIds = concerned.map(({ deviceId }) => deviceId);
      const live = await this.liveAmong(workspaceId, deviceIds);
      asleep.push(...concerned.filter(({ deviceId }) => !live.has(deviceId)));
    }
    return asleep;
  }

  /** If the check fails, no device counts as live: one push too many is better than one too few. */
  private async liveAmong(workspaceId: string, deviceIds: string[]): Promise<ReadonlySet<string>> {
    const live = new Set<string>();
    await this.log.bestEffort('find out which devices are connected', async () => {
      for (const check of this.liveChecks)
        for (const deviceId of await check(workspaceId, deviceIds)) live.add(deviceId);
      if (live.size > 0) await this.queue.release(workspaceId, [...live]);
    });
    return live;
  }
}
