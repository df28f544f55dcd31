export { type FairLimits, FairSemaphore } from './fair-semaphore.js';
export { LimitsModule } from './limits.module.js';
export { Queues } from './queues.js';
export { RateLimiter } from './rate-limiter.js';
