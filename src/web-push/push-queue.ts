import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock/index.js';
import { Database } from '../platform/database/index.js';
import { queueStatements } from './push-queue.queries.js';
import type { PushMessage, PushResult, PushType } from './push-sender.js';

/** No device is pushed to more often for a workspace. */
const WINDOW_MS = 30_000;

/** The wait after a failure doubles from a minute to this. */
const LONGEST_WAIT_MS = 60 * 60_000;

/** After this many failures in a row a push is dropped, about half an hour after it was due; the next change makes another. */
const MAX_TRIES = 6;

/** How far ahead a claim looks for those whose owners have room. */
const LOOK_AHEAD = 1_000;

/** Something has changed in a workspace. */
export interface Announcement {
  readonly workspaceId: string;
  readonly type: PushType;
  /** The device that did it and need not be told. */
  readonly by: string | undefined;
}

export interface ClaimedPush extends PushMessage {
  /** Whose workspace it is. */
  readonly ownerId: string;
  /** How often in a row the subscription has failed before. */
  readonly failures: number;
}

/**
 * What the subscriptions are waiting for, in their own rows: the first push of a window leaves at once, what comes
 * during the window leaves at its end as one. Claiming is what counts as sending, so a crash in between costs that
 * push and never doubles it.
 */
@Injectable()
export class PushQueue {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  async mark(announcements: readonly Announcement[]): Promise<void> {
    await this.database.run(queueStatements.mark, [
      announcements.map(({ workspaceId }) => workspaceId),
      announcements.map(({ type }) => type),
      announcements.map(({ by }) => by ?? null),
      this.clock.now(),
    ]);
  }

  /**
   * Up to `limit` pushes that are due, for the caller alone to send; of an owner not more than `ofOneOwner`, with those
   * that the caller has under way already. None when nothing is due but for owners with so many.
   */
  claim(limit: number, ofOneOwner: number, underWay: ReadonlyMap<string, number>): Promise<ClaimedPush[]> {
    const now = this.clock.now();
    return this.database.run<ClaimedPush>(queueStatements.claim, [
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

  /** Claimed pushes that turned out not to be needed. */
  async release(workspaceId: string, deviceIds: readonly string[]): Promise<void> {
    await this.database.run(queueStatements.release, [workspaceId, deviceIds, this.clock.now()]);
  }

  /** What follows for the subscription, unless it has been replaced meanwhile. */
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
