import { BadRequest, fromRequest } from '../../platform/http/index.js';

const MAX_QUERY = 256;
const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

export interface SearchQuery {
  readonly q: string;
  readonly limit: number;
}

/** `q`, 1 to 256 characters, and `limit`, clamped to 1..100; 20 when it is no number. */
export const SearchParams = fromRequest(({ query }): SearchQuery => {
  const { q, limit } = query as Record<string, unknown>;
  if (typeof q !== 'string' || q.trim() === '' || q.length > MAX_QUERY)
    throw new BadRequest(`q must be 1 to ${MAX_QUERY} characters`);
  return { q, limit: clamped(limit) };
});

function clamped(limit: unknown): number {
  const wanted = typeof limit === 'string' && limit.trim() !== '' ? Math.floor(Number(limit)) : Number.NaN;
  return Number.isFinite(wanted) ? Math.min(Math.max(wanted, 1), MAX_LIMIT) : DEFAULT_LIMIT;
}
