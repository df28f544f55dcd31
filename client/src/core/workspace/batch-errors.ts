import { ApiError, NetworkError } from '../http/index.js';

/** The service or a proxy in front of it has no batch routes, as in earlier versions. */
export const isWithoutBatches = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 404 || error.status === 405 || error.status === 501);

/** The batch is too large, or took too long; a part of it may succeed. */
export const isTooMuch = (error: unknown): boolean =>
  error instanceof NetworkError ||
  (error instanceof ApiError && [400, 408, 413, 500, 502, 504].includes(error.status));

export const halves = <T>(items: readonly T[]): [T[], T[]] => {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)];
};
