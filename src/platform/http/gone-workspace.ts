import { isOfGoneWorkspace } from '../database/index.js';
import { NotFound } from './api-errors.js';

/** Maps the failure of a write whose workspace was purged after it was looked up to 404; returns any other error unchanged. */
export const notFoundIfPurged = (error: unknown): unknown =>
  isOfGoneWorkspace(error) ? new NotFound('workspace not found') : error;
