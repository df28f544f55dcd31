import { DEVICE_ID_RULE, deviceIdOf } from '../devices/index.js';
import { BadRequest, fromRequest, parseIfMatch } from '../../platform/http/index.js';

/** Base64url, opaque, compared exactly. */
export const ENCRYPTED_PATH = /^(?=.{1,4096}$)[A-Za-z0-9_-]+={0,2}$/;
export const ENCRYPTED_PATH_RULE = 'must be 1 to 4096 base64url characters';
export const CONTENT_HASH = /^[0-9a-f]{64}$/i;

/** The `:encPath` parameter of the route. */
export const EncryptedPath = fromRequest((request) => {
  const { encPath } = request.params as { encPath: string };
  if (!ENCRYPTED_PATH.test(encPath)) throw new BadRequest(`the encrypted path ${ENCRYPTED_PATH_RULE}`);
  return encPath;
});

/** Required `X-Device-Id`. */
export const DeviceId = fromRequest((request) => {
  const deviceId = deviceIdOf(request);
  if (deviceId !== undefined) return deviceId;
  throw new BadRequest(`X-Device-Id ${DEVICE_ID_RULE}`);
});

/** `X-Device-Id`, or null when absent. */
export const OptionalDeviceId = fromRequest((request) => deviceIdOf(request) ?? null);

/** Required `X-Content-Hash`, lower-cased. */
export const ContentHash = fromRequest((request) => {
  const contentHash = request.headers['x-content-hash'];
  if (typeof contentHash !== 'string' || !CONTENT_HASH.test(contentHash)) {
    throw new BadRequest('X-Content-Hash must be the SHA-256 of the body in 64 hex characters');
  }
  return contentHash.toLowerCase();
});

/** The precondition of an upload on the live head; checked under the workspace lock. */
export interface Precondition {
  /**
   * The live head must have one of these content hashes; `*` matches any head, an empty list matches none. Null: no
   * condition.
   */
  readonly ifMatch: readonly string[] | null;
  /** There must be no live head. */
  readonly ifAbsent: boolean;
}

/** `If-Match: "<content hash>", …` and `If-None-Match: *`. */
export const UploadPrecondition = fromRequest(({ headers }): Precondition => {
  const ifMatch = contentHashesIn(headers['if-match']);
  const ifAbsent = headers['if-none-match'] !== undefined;
  if (ifAbsent && headers['if-none-match']?.trim() !== '*') throw new BadRequest('If-None-Match must be *');
  return { ifMatch, ifAbsent };
});

/**
 * The content hashes of an `If-Match`, or `*`; null when absent. No other tag can match a version.
 * @throws BadRequest when it lists no tag
 */
export function contentHashesIn(ifMatch: string | undefined): readonly string[] | null {
  const tags = parseIfMatch(ifMatch, 'content hashes');
  return tags?.filter((tag) => tag === '*' || CONTENT_HASH.test(tag)) ?? null;
}
