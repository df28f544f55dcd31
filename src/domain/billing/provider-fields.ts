import { BadRequest } from '../../platform/http/index.js';

type Path = readonly (string | number)[];

const ID = /^[\x21-\x7e]{1,255}$/;
/** The end of the year 9999. */
const LAST_SECOND = 253_402_300_799;

/** The own property at a path inside a JSON value; undefined if the path does not exist. */
export function valueAt(value: unknown, ...path: Path): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key)
        ? (inner as Record<string | number, unknown>)[key]
        : undefined,
    value,
  );
}

/** An id, or the id of an expanded object in its place; null for anything else. */
export function idOf(value: unknown): string | null {
  const id = typeof value === 'object' ? valueAt(value, 'id') : value;
  return typeof id === 'string' && ID.test(id) ? id : null;
}

/** The id at the first of the places that has one. */
export function firstId(value: unknown, places: readonly Path[]): string | null {
  for (const place of places) {
    const id = idOf(valueAt(value, ...place));
    if (id) return id;
  }
  return null;
}

/** A time in seconds since 1970; null when absent. @throws BadRequest when present but not a time */
export function secondsAt(value: unknown, ...path: Path): number | null {
  const seconds = valueAt(value, ...path) ?? null;
  if (seconds === null) return null;
  if (typeof seconds === 'number' && Number.isInteger(seconds) && seconds >= 0 && seconds <= LAST_SECOND)
    return seconds;
  throw new BadRequest(`${path.join('.')} must be a Unix timestamp in seconds`);
}
