import { BadRequest } from './errors.js';

const MAX_DEPTH = 32;
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
/** JSON can escape one half alone; no UTF-8, so no column, can hold it, and validators fall over it. */
const HALF_SURROGATE_PAIR = /\p{Cs}/u;

/**
 * The JSON object in a request body; an empty body is an empty object, so that validation names what is missing.
 * @throws BadRequest on broken JSON, another type at the top, nesting deeper than 32, keys that reach for
 * prototypes, halves of surrogate pairs
 */
export function parseJsonObject(body: Buffer): Record<string, unknown> {
  if (body.length === 0) return {};
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    throw new BadRequest('the request body is not valid JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BadRequest('the request body must be a JSON object');
  }
  refuseHostileShapes(value);
  return value as Record<string, unknown>;
}

/** Iterative on purpose: recursion over a hostile depth would overflow the stack. */
function refuseHostileShapes(root: object): void {
  const pending: { value: object; depth: number }[] = [{ value: root, depth: 1 }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    if (next.depth > MAX_DEPTH) throw new BadRequest('the request body is nested too deeply');
    for (const [key, child] of Object.entries(next.value)) {
      if (FORBIDDEN_KEYS.has(key)) throw new BadRequest(`the request body has a forbidden key`);
      if (typeof child === 'string' && HALF_SURROGATE_PAIR.test(child))
        throw new BadRequest('the request body has a text that is no Unicode');
      if (typeof child === 'object' && child !== null)
        pending.push({ value: child as object, depth: next.depth + 1 });
    }
  }
}
