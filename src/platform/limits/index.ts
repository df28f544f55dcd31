export { LimitsModule } from './limits.module.js';
export { RateLimiter } from './rate-limiter.js';
