import { BOOLEAN, COUNT, errorWith, objectOf, oneOf } from '../api-docs/index.js';

/** The 507 of every upload. */
export const QUOTA_EXCEEDED = errorWith({
  code: oneOf('STORAGE_QUOTA_EXCEEDED'),
  details: objectOf<Record<'usedBytes' | 'quotaBytes' | 'requestedBytes' | 'locked', unknown>>({
    usedBytes: COUNT,
    quotaBytes: COUNT,
    requestedBytes: COUNT,
    locked: BOOLEAN,
  }),
});
