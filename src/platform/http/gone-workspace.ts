import { isOfGoneWorkspace } from '../database/index.js';
import { NotFound } from './api-errors.js';

/** What a write fails with whose workspace was purged since it was looked for: 404; any other error as it is. */
export const notFoundIfPurged = (error: unknown): unknown =>
  isOfGoneWorkspace(error) ? new NotFound('workspace not found') : error;
