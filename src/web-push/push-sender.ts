import type { PushSubscription } from './push-subscription.js';

/** What a push says: that there is something new, never what. */
export type PushType = 'changes' | 'assets-changed';

export interface PushMessage extends PushSubscription {
  readonly type: PushType;
  readonly workspaceId: string;
}

export type PushResult =
  | { readonly outcome: 'delivered' }
  /** The push service does not know the subscription any more. */
  | { readonly outcome: 'gone' }
  | {
      readonly outcome: 'failed';
      /** For the log: it names neither endpoint nor key. */
      readonly reason: string;
      /** Whether the same push may succeed later. */
      readonly mayRetry: boolean;
      /** How long the push service wants to be left alone. */
      readonly retryAfterMs?: number;
    };

/** What takes a push to the push service of a device. */
export abstract class PushSender {
  /** Takes a few seconds at most, and never throws. */
  abstract send(push: PushMessage): Promise<PushResult>;

  /** Ends at once what is under way; it fails. */
  abstract stop(): void;
}
