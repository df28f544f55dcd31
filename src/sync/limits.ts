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
