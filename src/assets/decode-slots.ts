import type { FairLimits } from '../platform/limits/index.js';

/**
 * So many uploads are decoded at a time, each a piece at a time: between two pieces an upload holds no slot, so a slow
 * client keeps nobody waiting. The rest wait, and their clients with them, for the bytes are not read. As many of one user
 * may wait as a user may have requests under way.
 */
export const DECODING: FairLimits = {
  atOnce: 4,
  waiting: 512,
  perOwner: { atOnce: 3, waiting: 250 },
  waitMs: 10_000,
  busy: 'too many assets are being uploaded',
};
