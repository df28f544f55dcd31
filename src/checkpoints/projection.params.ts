import { ENCRYPTED_PATH } from '../files/index.js';
import { BadRequest, fromRequest } from '../platform/http/index.js';

/** Optional `fromCursor`. */
export const FromCursor = fromRequest(({ query }) => {
  const { fromCursor } = query as { fromCursor?: unknown };
  if (fromCursor === undefined) return undefined;
  const cursor = typeof fromCursor === 'string' && /^\d+$/.test(fromCursor) ? Number(fromCursor) : Number.NaN;
  if (Number.isSafeInteger(cursor)) return cursor;
  throw new BadRequest('fromCursor must be a cursor: an integer of 0 or more');
});

/** Required `encPath`. */
export const EncryptedPathQuery = fromRequest(({ query }) => {
  const { encPath } = query as { encPath?: unknown };
  if (typeof encPath === 'string' && ENCRYPTED_PATH.test(encPath)) return encPath;
  throw new BadRequest('encPath must be 1 to 4096 base64url characters');
});
