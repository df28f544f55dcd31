import { BadRequest } from '../platform/http/index.js';

const utf8 = new TextDecoder('utf8', { fatal: true, ignoreBOM: true });

/**
 * The JSON object that the provider has sent. Unlike a client's request it may have any keys, any number of values, any
 * depth and any text: whoever pays writes metadata, and an event that is refused leaves the payer without a subscription.
 * `JSON.parse` makes even `__proto__` an own property and does not recurse, so the value itself is harmless. Read it with
 * `valueAt`; never merge it, walk it recursively or serialize it.
 * @throws BadRequest for bytes that are not UTF-8, broken JSON, another type at the top
 */
export function parseProviderJson(body: Buffer): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(body));
  } catch {
    throw new BadRequest('the event is not valid JSON in UTF-8');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new BadRequest('the event must be a JSON object');
  return value as Record<string, unknown>;
}
