import { Injectable } from '@nestjs/common';
import { KeyedCounter } from '../platform/async/index.js';
import { Log } from '../platform/log/index.js';
import { type Counter, Metrics } from '../platform/metrics/index.js';
import { type ClaimedPush, PushQueue } from './push-queue.js';
import { PushSender } from './push-sender.js';

const MAX_AT_ONCE = 32;

/** An owner whose endpoints are slow delays only their own pushes. */
const MAX_OF_ONE_OWNER = 4;

/** What pushes that are under way get at shutdown. */
const GRACE_MS = 1_000;

/** Those of the devices that have a live socket in the workspace. */
export type LiveCheck = (workspaceId: string, deviceIds: readonly string[]) => Promise<ReadonlySet<string>>;

/** Claims what is due and sends it, so many at once and no more, in all and of one owner. */
@Injectable()
export class PushDispatcher {
  private readonly results: Counter;
  private readonly liveChecks: LiveCheck[] = [];
  private readonly sending = new Set<Promise<void>>();
  /** How many of them each owner has. */
  private readonly underWay = new KeyedCounter();
  /** Something may be due that there was no room for; `onRoom` says when there is. */
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
      'Web Pushes that were tried, by what became of them: delivered, gone or failed',
      ['outcome'],
    );
  }

  skipWhen(check: LiveCheck): void {
    this.liveChecks.push(check);
  }

  /** @param onRoom called when pushes that are due can be started after all */
  whenCapacity(onRoom: () => void): void {
    this.onCapacity = onRoom;
  }

  /** Starts what is due, as far as there is room. Not to be called while it runs. */
  async startDue(): Promise<void> {
    this.hasBacklog = false;
    while (!this.isStopped) {
      const room = MAX_AT_ONCE - this.sending.size;
      // Before the claim: a push that ends during it must ask for another one.
      this.hasBacklog =
        room === 0 || [...this.underWay.entries()].some(([, count]) => count >= MAX_OF_ONE_OWNER);
      if (room === 0) return;
      const due = await this.queue.claim(room, MAX_OF_ONE_OWNER, new Map(this.underWay.entries()));
      for (const push of await this.withoutLive(due)) this.start(push);
      if (due.length === 0) return;
    }
  }

  /** Resolves when all that was started so far has been tried; one that ends may let another begin. */
  async finish(): Promise<void> {
    await Promise.all(this.sending);
  }

  /** Nothing is being sent, and nothing waits for room. */
  get isIdle(): boolean {
    return this.sending.size === 0 && !this.hasBacklog;
  }

  /** Starts nothing any more. What is not done in a moment is cut off and counts as failed: it will be tried again. */
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
      .bestEffort('settle a push', () => this.deliver(push))
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

  /** When it cannot be found out, none: a push too many is better than one too few. */
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
