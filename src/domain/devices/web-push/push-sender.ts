import type { PushSubscription } from './push-subscription.js';

/** The content of a push: that there is something new, never what. */
export type PushType = 'changes' | 'assets-changed';

export interface PushMessage extends PushSubscription {
  readonly type: PushType;
  readonly workspaceId: string;
}

export type PushResult =
  | { readonly outcome: 'delivered' }
  /** The push service no longer knows the subscription. */
  | { readonly outcome: 'gone' }
  | {
      readonly outcome: 'failed';
      /** For the log: contains neither the endpoint nor keys. */
      readonly reason: string;
      /** Whether the same push may succeed later. */
      readonly mayRetry: boolean;
      /** How long the push service asks to wait. */
      readonly retryAfterMs?: number;
    };

/** Delivers a push to the device's push service. */
export abstract class PushSender {
  /** Takes a few seconds at most, and never throws. */
  abstract send(push: PushMessage): Promise<PushResult>;

  /** Aborts all sends in progress; they fail. */
  abstract stop(): void;
}
