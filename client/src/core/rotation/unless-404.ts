import { ApiError } from '../http/index.js';

/** The answer; undefined for a 404. */
export async function unless404<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}
