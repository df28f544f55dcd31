import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Not, Repository } from 'typeorm';
import { UserEntity } from '../../auth/index.js';
import { Clock } from '../../../platform/clock.js';
import { Database, type Part } from '../../../platform/database/index.js';
import { Log } from '../../../platform/log.js';
import { StoredSubscription } from './push-subscriptions.js';
import type { PushMessage, PushResult, PushType } from './push-sender.js';
import { pushQueueStatements } from './web-push.queries.js';

/** The minimum interval between pushes to a device for one workspace. */
const WINDOW_MS = 30_000;

/** The wait after a failure doubles from a minute up to this. */
const LONGEST_WAIT_MS = 60 * 60_000;

/**
 * After this many consecutive failures a push is dropped, about half an hour after it was due; the next change creates another.
 */
const MAX_TRIES = 6;

/** How many due pushes a claim considers to find owners below their limit. */
const LOOK_AHEAD = 1_000;

/** A change in a workspace. */
export interface Announcement {
  readonly workspaceId: string;
  readonly type: PushType;
  /** The device that made the change and needs no push. */
  readonly by: string | undefined;
}

export interface ClaimedPush extends PushMessage {
  /** The owner of the workspace. */
  readonly ownerId: string;
  /** The number of consecutive failures of the subscription so far. */
  readonly failures: number;
}

/**
 * The pending pushes, stored in the rows of their subscriptions: the first push of a window is sent at once, and all that follow
 * during the window are sent as one at its end. A claim counts as a send, so a crash in between loses that push and never
 * duplicates it.
 */
@Injectable()
export class PushQueue {
  constructor(
    @InjectRepository(StoredSubscription) private readonly subscriptions: Repository<StoredSubscription>,
    @InjectRepository(UserEntity) private readonly users: Repository<UserEntity>,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /** The id of the part with the subscriptions of a workspace; '' on one server. */
  async partOf(workspaceId: string): Promise<string> {
    return (await this.database.placeOf(workspaceId)).id;
  }

  /** @param announcements of one part */
  async mark(announcements: readonly Announcement[]): Promise<void> {
    const workspaces = announcements.map(({ workspaceId }) => workspaceId);
    const [first] = workspaces;
    if (first === undefined) return;
    const types = announcements.map(({ type }) => type);
    const devices = announcements.map(({ by }) => by ?? null);
    const values = [workspaces, types, devices, this.clock.now()];
    await this.database.workspaceTransaction(first, (tx) => tx.run(pushQueueStatements.mark, values));
  }

  /**
   * Claims up to `limit` due pushes for the caller; at most `ofOneOwner` per owner, including those that the caller already has
   * in progress, and none of owners suspended before the call. Empty when all due pushes belong to owners at that limit.
   */
  async claim(
    limit: number,
    ofOneOwner: number,
    underWay: ReadonlyMap<string, number>,
  ): Promise<ClaimedPush[]> {
    const busy = new Map(underWay);
    const suspended = { select: { id: true }, where: { suspendedAt: Not(IsNull()) } } as const;
    for (const { id } of await this.users.find(suspended)) busy.set(id, ofOneOwner);
    const claimed: ClaimedPush[] = [];
    const faults: Error[] = [];
    for (const part of await this.database.parts()) {
      if (claimed.length >= limit) break;
      try {
        const pushes = await this.claimIn(part, limit - claimed.length, ofOneOwner, busy);
        for (const { ownerId } of pushes) busy.set(ownerId, (busy.get(ownerId) ?? 0) + 1);
        claimed.push(...pushes);
      } catch (error) {
        faults.push(error as Error);
      }
    }
    const [err] = faults;
    if (err === undefined) return claimed;
    if (claimed.length === 0) throw err;
    this.log.warn({ err }, 'could not claim pushes on all nodes'); // no other instance sends what was claimed
    return claimed;
  }

  private claimIn(
    part: Part,
    limit: number,
    ofOneOwner: number,
    underWay: ReadonlyMap<string, number>,
  ): Promise<ClaimedPush[]> {
    const now = this.clock.now();
    return part.run<ClaimedPush>(pushQueueStatements.claim, [
      now,
      limit,
      later(now, WINDOW_MS),
      later(now, LONGEST_WAIT_MS + WINDOW_MS),
      [...underWay.keys()],
      [...underWay.values()],
      ofOneOwner,
      LOOK_AHEAD,
    ]);
  }

  /** Resets claimed pushes that turned out to be unnecessary. */
  async release(workspaceId: string, deviceIds: readonly string[]): Promise<void> {
    await this.database.run(pushQueueStatements.release, [workspaceId, deviceIds, this.clock.now()]);
  }

  /** Stores the result in the subscription, unless it has been replaced meanwhile. */
  async settle(push: ClaimedPush, result: PushResult): Promise<void> {
    const { workspaceId, deviceId, endpoint, p256dh, auth } = push;
    const used = { workspaceId, deviceId, endpoint, p256dh, auth };
    if (result.outcome === 'gone') await this.subscriptions.delete(used);
    if (result.outcome === 'delivered' && push.failures > 0)
      await this.subscriptions.update(used, { failures: 0 });
    if (result.outcome !== 'failed') return;

    const isTriedAgain = result.mayRetry && push.failures + 1 < MAX_TRIES;
    const wait = Math.max(WINDOW_MS * 2 ** (push.failures + 1), result.retryAfterMs ?? 0);
    const next = later(this.clock.now(), Math.min(wait, LONGEST_WAIT_MS));
    const of = [workspaceId, deviceId, endpoint, p256dh, auth];
    const values = [...of, isTriedAgain ? push.type : null, next];
    await this.database.run(pushQueueStatements.failed, values);
  }
}

function later(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms);
}
