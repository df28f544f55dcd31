import { Injectable } from '@nestjs/common';
import { createHmac } from 'node:crypto';
import webPush from 'web-push';
import { Configuration } from '../../../platform/config/index.js';
import { NotPublic, Outbound, type OutboundResponse } from '../../../platform/outbound.js';
import { parseEndpoint, type PushSubscription } from './push-subscriptions.js';

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

/** A device that is offline for longer pulls anyway when it is back. */
const KEPT_FOR_S = 24 * 60 * 60;

const ENCODING = 'aes128gcm';

/** Web Push (RFC 8030): the payload encrypted for the device (RFC 8291), signed with our VAPID key (RFC 8292). */
@Injectable()
export class HttpsPushSender extends PushSender {
  constructor(
    private readonly configuration: Configuration,
    private readonly outbound: Outbound,
  ) {
    super();
  }

  async send(push: PushMessage): Promise<PushResult> {
    try {
      const url = parseEndpoint(push.endpoint);
      const payload = JSON.stringify({ type: push.type, workspaceId: push.workspaceId });
      const cipherText = encrypted(push, payload);
      if (!cipherText) return { outcome: 'failed', reason: 'the keys are invalid', mayRetry: false };
      const headers = this.headers(url, push, cipherText);
      return judge(await this.outbound.post(url, { headers, body: cipherText }));
    } catch (error) {
      const mayRetry = !(error instanceof NotPublic);
      return { outcome: 'failed', reason: reasonOf(error), mayRetry };
    }
  }

  stop(): void {
    this.outbound.stop();
  }

  private headers(url: URL, push: PushMessage, body: Buffer): Record<string, string> {
    const { vapidSubject = '', vapidPublicKey = '', vapidPrivateKey = '' } = this.configuration;
    return {
      ...webPush.getVapidHeaders(url.origin, vapidSubject, vapidPublicKey, vapidPrivateKey, ENCODING),
      'Content-Type': 'application/octet-stream',
      'Content-Encoding': ENCODING,
      'Content-Length': String(body.length),
      TTL: String(KEPT_FOR_S),
      Urgency: 'normal',
      Topic: topicOf(push, vapidPrivateKey),
    };
  }
}

/** Undefined when the device's key is not a point of the curve. */
function encrypted({ p256dh, auth }: PushMessage, payload: string): Buffer | undefined {
  try {
    return webPush.encrypt(p256dh, auth, payload, ENCODING).cipherText;
  } catch {
    return undefined;
  }
}

/**
 * Lets the push service replace a queued push with the next one of its kind. The topic is keyed and differs for each device, so
 * it reveals neither the workspace nor which subscriptions belong together. 32 characters are the maximum length.
 */
function topicOf({ type, workspaceId, deviceId }: PushMessage, secret: string): string {
  return createHmac('sha256', secret)
    .update(`${type} ${workspaceId} ${deviceId}`)
    .digest('base64url')
    .slice(0, 32);
}

function judge({ status, retryAfter }: OutboundResponse): PushResult {
  if (status >= 200 && status < 300) return { outcome: 'delivered' };
  if (status === 404 || status === 410) return { outcome: 'gone' };
  const mayRetry = status === 429 || status >= 500;
  const retryAfterMs = /^\d{1,6}$/.test(retryAfter ?? '') ? Number(retryAfter) * 1000 : 0;
  return { outcome: 'failed', reason: `status ${status}`, mayRetry, retryAfterMs };
}

/** Never uses the message of a network error: it can contain the host. */
function reasonOf(error: unknown): string {
  if (error instanceof NotPublic) return error.message;
  const { code, name } = error as NodeJS.ErrnoException;
  return code === 'ABORT_ERR' || code === 'ECANCELLED' ? 'no answer in time' : (code ?? name);
}
