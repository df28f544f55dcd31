import { utf8Of } from './text.js';
import { BadRequest } from './api-errors.js';

const MAX_DEPTH = 32;
/** A full push has 5,000 values. Validation visits each value, so a body with millions would block the service. */
const MAX_VALUES = 20_000;
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
/** JSON can escape a lone surrogate; UTF-8, and therefore a column, cannot hold it, and validators throw on it. */
const HALF_SURROGATE_PAIR = /\p{Cs}/u;

/**
 * Parses the JSON object in a request body; an empty body is an empty object, so that validation names what is missing.
 * @throws BadRequest on invalid UTF-8, invalid JSON, a top-level value that is not an object, more than 20,000 values, nesting
 * deeper than 32, keys that access prototypes, lone surrogates
 */
export function parseJsonObject(body: Buffer): Record<string, unknown> {
  if (body.length === 0) return {};
  const text = utf8Of(body);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BadRequest('the request body is not valid JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BadRequest('the request body must be a JSON object');
  }
  refuseHostileShapes(value);
  return value as Record<string, unknown>;
}

/** Iterative on purpose: recursion would overflow the stack on hostile nesting. Counts values before inspecting them. */
function refuseHostileShapes(root: object): void {
  const pending: { value: object; depth: number }[] = [{ value: root, depth: 1 }];
  let values = 0;
  for (let next = pending.pop(); next; next = pending.pop()) {
    if (next.depth > MAX_DEPTH) throw new BadRequest('the request body is nested too deeply');
    values += Array.isArray(next.value) ? next.value.length : Object.keys(next.value).length;
    if (values > MAX_VALUES) throw new BadRequest('the request body has too many values');
    for (const [key, child] of Object.entries(next.value)) {
      refuseKeyAndText(key, child);
      if (typeof child === 'object' && child !== null)
        pending.push({ value: child as object, depth: next.depth + 1 });
    }
  }
}

function refuseKeyAndText(key: string, value: unknown): void {
  if (FORBIDDEN_KEYS.has(key)) throw new BadRequest('the request body has a forbidden key');
  if (typeof value === 'string' && HALF_SURROGATE_PAIR.test(value))
    throw new BadRequest('the request body contains invalid Unicode');
}
