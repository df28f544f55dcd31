export { addressKey } from './client-address.js';
export { LimitsModule } from './limits.module.js';
export { OwnSlots } from './own-slots.js';
export { RateLimiter } from './rate-limiter.js';
export { type SlotLimits, Slots } from './slots.js';
