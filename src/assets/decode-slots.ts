import { type SlotLimits, Semaphore } from '../platform/limits/index.js';

const LIMITS: SlotLimits = {
  atOnce: 4,
  waiting: 256,
  waitMs: 10_000,
  busy: 'too many assets are being uploaded',
};

/**
 * So many uploads are decoded at a time, each a piece at a time: between two pieces an upload holds no slot, so that a
 * slow client keeps nobody waiting. The rest wait in turn, and their clients with them, for the bytes are not read.
 */
export class DecodeSlots extends Semaphore {
  constructor(limits: Partial<SlotLimits> = {}) {
    super({ ...LIMITS, ...limits });
  }
}
