import { Injectable } from '@nestjs/common';
import type { Caller } from '../index.js';
import { AccountSuspended } from '../../auth/index.js';
import { Subscriptions } from '../../billing/index.js';
import { Clock } from '../../platform/clock/index.js';
import { Database } from '../../platform/database/index.js';
import { NotFound, PaymentRequired, ServiceUnavailable, Unauthorized } from '../../platform/http/index.js';
import { type Standing, standing } from './workspace-access.queries.js';

/** For so long a caller who has been let in is expected to be let in again. */
const ALLOWED_FOR_MS = 60_000;
/** Beyond, the oldest are forgotten, which costs them one read. */
const MAX_ALLOWED = 10_000;

const RETRY_SECONDS = 1;

/** Callers with the same key have the same access to every workspace. */
export const callerKey = ({ userId, needsSubscription }: Caller): string => `${userId} ${needsSubscription}`;

/** Requests with the same key have the same access to the same workspace, and may be answered together. */
export const accessKey = ({ id, caller }: { readonly id: string; readonly caller: Caller }): string =>
  `${id} ${callerKey(caller)}`;

export interface AccessRequirements {
  readonly user: boolean;
  readonly subscription: boolean;
}

/** Whether users are there, are not suspended, have paid, and own what they ask for, as the rows have it at the moment. */
@Injectable()
export class Standings {
  /** Whom `check` has let in lately, until when by `Clock.elapsed`. */
  private readonly allowed = new Map<string, number>();

  constructor(
    private readonly database: Database,
    private readonly subscriptions: Subscriptions,
    private readonly clock: Clock,
  ) {}

  /** @returns whether the workspace is the user's @throws Unauthorized, AccountSuspended, PaymentRequired */
  async check(userId: string, demands: AccessRequirements, workspaceId: string | null): Promise<boolean> {
    const values = [userId, this.clock.now(), this.subscriptions.graceDays, workspaceId];
    const [found] = await this.database.run<Standing>(standing, values);
    if (demands.user && !found?.isUser) throw new Unauthorized();
    if (found?.isSuspended) throw new AccountSuspended();
    if (demands.subscription && !found?.isSubscriber) throw new PaymentRequired();
    return found?.isOwner ?? false;
  }

  /**
   * Whether `check` has let this caller in within the last minute. That is no permission: it only tells who may leave
   * the check to the statement that does the work, and who would probably be refused before that.
   */
  wasAllowedLately(caller: Caller, workspaceId: string): boolean {
    return (this.allowed.get(accessKey({ id: workspaceId, caller })) ?? 0) > this.clock.elapsed();
  }

  /** Remembers for a minute that `check` has let the caller in. */
  rememberAllowed(caller: Caller, workspaceId: string): void {
    const key = accessKey({ id: workspaceId, caller });
    this.allowed.delete(key); // a map keeps the place of a key that it has
    this.allowed.set(key, this.clock.elapsed() + ALLOWED_FOR_MS);
    const [oldest] = this.allowed.keys();
    if (this.allowed.size > MAX_ALLOWED && oldest !== undefined) this.allowed.delete(oldest);
  }

  /** Values for `openTo`; the user is null when nobody is to be asked about. */
  accessParameters(caller: Caller | undefined): [string | null, Date, number | null] {
    const graceDays = caller?.needsSubscription ? this.subscriptions.graceDays : null;
    return [caller?.userId ?? null, this.clock.now(), graceDays];
  }

  /** @throws Unauthorized, AccountSuspended, PaymentRequired, NotFound when the workspace is not open to the caller */
  async confirm({ userId, needsSubscription }: Caller, workspaceId: string): Promise<void> {
    const isOwner = await this.check(userId, { user: true, subscription: needsSubscription }, workspaceId);
    if (!isOwner) throw new NotFound('workspace not found');
  }
}

/**
 * A statement has found the workspace closed to the caller. Why, `StandingFilter` finds out and answers; this is what the
 * caller sees when it is open again by then.
 */
export class WorkspaceClosed extends ServiceUnavailable {
  constructor() {
    super('the workspace was closed for a moment', RETRY_SECONDS);
  }
}
