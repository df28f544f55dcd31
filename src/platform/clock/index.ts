export { Clock } from './clock.js';
export { inTime, drained } from './in-time.js';
export { isInstant, parseInstant } from './instant.js';
export { ClockModule } from './clock.module.js';
