import { isUUID } from 'class-validator';
import { BadRequest } from '../platform/http/index.js';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

/** A page size, clamped to 1..1000 and floored; 100 when there is none. */
export function clampLimit(limit: number | null | undefined): number {
  if (limit === undefined || limit === null || !Number.isFinite(limit)) return DEFAULT_LIMIT;
  return Math.min(Math.max(Math.floor(limit), 1), MAX_LIMIT);
}

/** The same for a query parameter; what is no number counts as absent (snapshot rule 1). */
export function clampTextLimit(text: unknown): number {
  return clampLimit(typeof text === 'string' && text.trim() !== '' ? Number(text) : undefined);
}

/** The `pageCursor` of a query, which is the id of a file; undefined when there is none. @throws BadRequest */
export function pageCursorIn(pageCursor: unknown): string | undefined {
  if (pageCursor === undefined || pageCursor === '') return undefined;
  if (!isUUID(pageCursor)) throw new BadRequest('pageCursor must be a file id');
  return pageCursor as string;
}
