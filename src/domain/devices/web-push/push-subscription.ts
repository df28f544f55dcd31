import { BadRequest } from '../../../platform/http/index.js';
import { NotPublic, parsePublicUrl } from '../../../platform/outbound/index.js';
import { DEVICE_ID_RULE, isDeviceId } from '../index.js';

const MAX_ENDPOINT_LENGTH = 2048;

/** The endpoint and keys for pushes to a device of a workspace. */
export interface PushSubscription {
  readonly deviceId: string;
  /** A secret: anybody who knows it can push to it. Never log it or include it in an answer. */
  readonly endpoint: string;
  /** 65 bytes in base64url: the browser's public key. Whether it is a point of P-256 is only checked when a push is encrypted. */
  readonly p256dh: string;
  /** 16 bytes in base64url. */
  readonly auth: string;
}

/** @throws BadRequest that names the first field that is missing or invalid */
export function parsePushSubscription(request: {
  deviceId?: unknown;
  endpoint?: unknown;
  keys?: unknown;
}): PushSubscription {
  const { deviceId, endpoint } = request;
  if (!isDeviceId(deviceId)) throw new BadRequest(`deviceId ${DEVICE_ID_RULE}`);
  if (typeof endpoint !== 'string') throw new BadRequest('endpoint must be a string');
  const keys = (request.keys ?? {}) as { p256dh?: unknown; auth?: unknown };

  const p256dh = decoded(keys.p256dh);
  if (p256dh?.length !== 65) throw new BadRequest('keys.p256dh must be 65 bytes in base64url');
  const auth = decoded(keys.auth);
  if (auth?.length !== 16) throw new BadRequest('keys.auth must be 16 bytes in base64url');

  return {
    deviceId,
    endpoint: normalized(endpoint),
    p256dh: p256dh.toString('base64url'),
    auth: auth.toString('base64url'),
  };
}

/** @throws NotPublic for an address to which no push may be sent */
export function parseEndpoint(endpoint: string): URL {
  return parsePublicUrl(endpoint, MAX_ENDPOINT_LENGTH);
}

/** The URL parser's spelling, so that no later reader can parse it as another address. */
function normalized(endpoint: string): string {
  try {
    return parseEndpoint(endpoint).href;
  } catch (error) {
    throw error instanceof NotPublic ? new BadRequest(`endpoint ${error.message}`) : error;
  }
}

function decoded(text: unknown): Buffer | undefined {
  if (typeof text !== 'string' || !/^[A-Za-z0-9_-]{1,100}={0,2}$/.test(text)) return undefined;
  return Buffer.from(text, 'base64url');
}
