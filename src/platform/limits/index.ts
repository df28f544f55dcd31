export { type FairLimits, FairSemaphore } from './fair-semaphore.js';
export { addressKey, networkKey } from '../http/index.js';
export { LimitsModule } from './limits.module.js';
export { KeyedSemaphore } from './keyed-semaphore.js';
export { RateLimiter } from './rate-limiter.js';
export { type SlotLimits, Semaphore } from './semaphore.js';
