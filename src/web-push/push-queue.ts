import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock/index.js';
import { Database, isUnanswered, type Part } from '../platform/database/index.js';
import { queueStatements } from './push-queue.queries.js';
import { Log } from '../platform/log/index.js';
import type { PushMessage, PushResult, PushType } from './push-sender.js';

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
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  async mark(announcements: readonly Announcement[]): Promise<void> {
    if (!this.database.isDistributed) return this.markTogether(announcements);
    // Rows cannot be locked on several nodes at once.
    for (const id of new Set(announcements.map(({ workspaceId }) => workspaceId))) {
      const ofOne = announcements.filter(({ workspaceId }) => workspaceId === id);
      await this.database.unlessAway(() => this.markTogether(ofOne), undefined);
    }
  }

  private async markTogether(announcements: readonly Announcement[]): Promise<void> {
    await this.database.run(queueStatements.mark, [
      announcements.map(({ workspaceId }) => workspaceId),
      announcements.map(({ type }) => type),
      announcements.map(({ by }) => by ?? null),
      this.clock.now(),
    ]);
  }

  /**
   * Up to `limit` pushes that are due, to be sent only by the caller; at most `ofOneOwner` per owner, including those that the
   * caller already has in progress. Empty when all due pushes belong to owners at that limit.
   */
  async claim(
    limit: number,
    ofOneOwner: number,
    underWay: ReadonlyMap<string, number>,
  ): Promise<ClaimedPush[]> {
    if (!this.database.isDistributed) return this.claimIn(this.database, limit, ofOneOwner, underWay);
    const suspended = await this.database.run<{ id: string }>(queueStatements.suspendedOwners, []);
    const busy = new Map(underWay);
    for (const { id } of suspended) busy.set(id, ofOneOwner);
    const claimed: ClaimedPush[] = [];
    const faults: Error[] = [];
    const claims = this.database.onParts(async (part) => {
      if (claimed.length >= limit) return;
      try {
        const pushes = await this.claimIn(part, limit - claimed.length, ofOneOwner, busy);
        for (const { ownerId } of pushes) busy.set(ownerId, (busy.get(ownerId) ?? 0) + 1);
        claimed.push(...pushes);
      } catch (error) {
        if (isUnanswered(error)) throw error; // perhaps of a node that is away
        faults.push(error as Error); // such as a full disk: the other parts go on
      }
    });
    await claims.catch((error: unknown) => faults.push(error as Error));
    const [err] = faults;
    if (err !== undefined) {
      // Nobody else sends what was claimed.
      if (claimed.length === 0) throw err;
      this.log.warn({ err }, 'could not claim pushes on all nodes');
    }
    return claimed.length === 0 ? [] : this.withoutDeleted(claimed);
  }

  /** Asked after the claim, so that nothing is sent once a deletion is committed. */
  private async withoutDeleted(claimed: readonly ClaimedPush[]): Promise<ClaimedPush[]> {
    const workspaces = claimed.map(({ workspaceId }) => workspaceId);
    const devices = claimed.map(({ deviceId }) => deviceId);
    const rows = await this.database.run<{ place: number }>(queueStatements.deleted, [workspaces, devices]);
    const deleted = new Set(rows.map(({ place }) => place));
    return claimed.filter((_, index) => !deleted.has(index));
  }

  private claimIn(
    part: Part,
    limit: number,
    ofOneOwner: number,
    underWay: ReadonlyMap<string, number>,
  ): Promise<ClaimedPush[]> {
    const now = this.clock.now();
    return part.run<ClaimedPush>(queueStatements.claim, [
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
    await this.database.run(queueStatements.release, [workspaceId, deviceIds, this.clock.now()]);
  }

  /** Stores the result in the subscription, unless it has been replaced meanwhile. */
  async settle(push: ClaimedPush, result: PushResult): Promise<void> {
    const used = [push.workspaceId, push.deviceId, push.endpoint, push.p256dh, push.auth];
    if (result.outcome === 'gone') await this.database.run(queueStatements.gone, used);
    if (result.outcome === 'delivered' && push.failures > 0)
      await this.database.run(queueStatements.delivered, used);
    if (result.outcome !== 'failed') return;

    const isTriedAgain = result.mayRetry && push.failures + 1 < MAX_TRIES;
    const wait = Math.max(WINDOW_MS * 2 ** (push.failures + 1), result.retryAfterMs ?? 0);
    const next = later(this.clock.now(), Math.min(wait, LONGEST_WAIT_MS));
    await this.database.run(queueStatements.failed, [...used, isTriedAgain ? push.type : null, next]);
  }
}

function later(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms);
}
