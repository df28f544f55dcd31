import { BadRequest, fromRequest } from '../../platform/http/index.js';

/** Base64url without padding, opaque, compared exactly. */
export const ASSET_TOKEN = /^[A-Za-z0-9_-]{1,1024}$/;
export const ASSET_TOKEN_RULE = 'must be 1 to 1024 base64url characters';

/**
 * A valid token for a new asset: excludes names whose download URL belongs to another route. An older asset with such
 * a token can still be renamed and deleted.
 */
export const NEW_ASSET_TOKEN = /^(?!(?:list|usage)$)[A-Za-z0-9_-]{1,1024}$/;
export const NEW_ASSET_TOKEN_RULE = `${ASSET_TOKEN_RULE}, and neither list nor usage`;

/** 1–128 visible ASCII characters. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,128}$/;

/** The `:token` parameter of the route. */
export const AssetToken = fromRequest(({ params }) => {
  const { token } = params as { token: string };
  if (!ASSET_TOKEN.test(token)) throw new BadRequest(`the asset token ${ASSET_TOKEN_RULE}`);
  return token;
});

/** `Idempotency-Key`, or null when absent. */
export const IdempotencyKey = fromRequest(({ headers }) => {
  const key = headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key === 'string' && IDEMPOTENCY_KEY.test(key)) return key;
  throw new BadRequest('Idempotency-Key must be 1 to 128 visible ASCII characters');
});
